"""The agents' provider: every wire format on one port of the loopback.

Unlike the servers of `support.wire` it refuses nothing: the agents are responsible for their requests. Its usage can be
`inflated`, so that an agent takes its context for full, for ever or until it has asked for a summary.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from support.acp_end import PATIENCE
from support.wire.account import Account, count_items, count_text
from support.wire.anthropic_wire import AnthropicWire
from support.wire.chat_wire import ChatWire
from support.wire.dialect import Dialect, frame
from support.wire.http import Exchange, Json, serve
from support.wire.replies import Call, Part, Reply, Say, say
from support.wire.responses_wire import ResponsesWire

SUMMARY = "The cask is called Berta; its file is src/cask.py; the next step is a test."
# Words in every agent's request for a summary, and in Ullage's.
_SUMMARY_WORDS = ("summary", "summarize", "summarise", "state_snapshot")
_WIRES: dict[str, Dialect] = {
    "/messages": AnthropicWire(),
    "/responses": ResponsesWire(),
    "/chat/completions": ChatWire(),
}


class ModelServer:
    """Keeps the requests for answers as text. The answer's text has their number. The server answers once it is
    `free`.

    `scripted` are answers by a word: the first request that has the word in its last messages, and offers the tool if
    the answer is a call, gets that answer.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        # What it says in its answers, besides their number.
        self.words = ""
        self.summary = SUMMARY
        self.scripted: dict[str, Part] = {}
        self.inflated = 0
        # A status and a body by which requests for answers are refused.
        self.refusal: tuple[int, Json] | None = None
        self.until_summary = False
        self.summary_words: tuple[str, ...] = _SUMMARY_WORDS
        self.free = asyncio.Event()
        self.free.set()
        # Requests for a summary that came while the server was not free.
        self._summarizing = 0
        self._changed = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["ModelServer"]:
        """Serves while the block runs."""
        async with serve(self._handle, 0) as self.port:
            yield self

    async def _handle(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        wire = next((wire for end, wire in _WIRES.items() if path.endswith(end)), None)
        if path.endswith("count_tokens"):
            await exchange.answer(200, {"input_tokens": count_items([exchange.body])})
        elif path.endswith(":countTokens"):
            await exchange.answer(200, {"totalTokens": count_items([exchange.body])})
        elif "enerateContent" in path:
            await self._generate(exchange, stream="stream" in path)
        elif exchange.method == "GET" and "/models" in path:
            await exchange.answer(200, ChatWire().models(path, "m"))
        elif wire is not None:
            await self._stream(exchange, wire)
        else:
            await exchange.answer(404, {"error": {"message": "Not found"}})

    async def until_asked(self, count: int) -> None:
        """Waits until so many answers were requested."""
        async with asyncio.timeout(PATIENCE):
            while len(self.asked) < count:
                self._changed.clear()
                await self._changed.wait()

    async def until_summarizing(self) -> None:
        """Waits until a summary was requested that the server is not free to answer."""
        async with asyncio.timeout(PATIENCE):
            while not self._summarizing:
                self._changed.clear()
                await self._changed.wait()
        self._summarizing = 0

    def _reply(self, body: Json, items: Sequence[Any]) -> Reply:
        self.asked.append(json.dumps(body, ensure_ascii=False))
        last = json.dumps(items[-1]).lower()
        wanted = any(word in last for word in self.summary_words)
        self._summarizing += wanted and not self.free.is_set()
        self._changed.set()
        if wanted and self.until_summary:
            self.inflated = 0
        # After the prompt, Claude Code sends a message that describes its surroundings.
        # Without tools it asks for something outside the conversation, such as a title.
        tools = body.get("tools")
        part = self._scripted(json.dumps(items[-2:]), json.dumps(tools)) if tools and not wanted else None
        if part is not None:
            return Reply(parts=(part,))
        return say(self.summary if wanted else f"This is answer {len(self.asked)}.{self.words}")

    def _scripted(self, recent: str, tools: str) -> Part | None:
        fits = (
            word
            for word, part in self.scripted.items()
            if word in recent and (not isinstance(part, Call) or f'"{part.name}"' in tools)
        )
        word = next(fits, None)
        return None if word is None else self.scripted.pop(word)

    async def _stream(self, exchange: Exchange, wire: Dialect) -> None:
        items = wire.items(exchange.body)
        reply = self._reply(exchange.body, items)
        await self.free.wait()
        if self.refusal is not None:
            # For the agents' HTTP libraries, which would ask again and again.
            await exchange.answer(*self.refusal, headers={"x-should-retry": "false"})
            return
        prompt = count_items(items) + self.inflated
        account = Account(prompt=prompt, cached=0, output=20)
        if not exchange.body.get("stream"):
            await exchange.answer(200, _whole(reply, account))
            return
        await exchange.begin()
        for name, data in wire.events(exchange.body["model"], reply, account):
            # Answers in Claude Code's log differ by their ids.
            if (message := data.get("message")) is not None:
                message["id"] = f"msg_{len(self.asked)}"
                if '"ttl": "1h"' in json.dumps(exchange.body):
                    written = message["usage"]["cache_creation_input_tokens"]
                    message["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": written}
            await exchange.chunk(frame(name, data))
        await exchange.chunk(b"data: [DONE]\n\n" if isinstance(wire, ChatWire) else b"")
        if isinstance(wire, ChatWire):
            await exchange.chunk(b"")

    async def _generate(self, exchange: Exchange, *, stream: bool) -> None:
        """Answers in Google's format, as far as an answer of one text or call needs it ("Generating content",
        `generateContent`)."""
        body = exchange.body
        items = [body.get("systemInstruction"), body.get("tools"), *body.get("contents", [])]
        reply = self._reply(body, items)
        text, calls = _text(reply), [part for part in reply.parts if isinstance(part, Call)]
        await self.free.wait()
        prompt = count_items(items)
        usage = {"promptTokenCount": prompt + self.inflated, "candidatesTokenCount": count_text(text)}
        called = [{"functionCall": {"name": call.name, "args": json.loads(call.arguments)}} for call in calls]
        content = {"role": "model", "parts": called or [{"text": text}]}
        answer: Json = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {**usage, "totalTokenCount": sum(usage.values())},
            "modelVersion": "gemini-2.5-flash",
        }
        if stream:
            await exchange.begin()
            await exchange.chunk(f"data: {json.dumps(answer)}\r\n\r\n".encode())
            await exchange.chunk(b"")
        else:
            await exchange.answer(200, answer)


def _text(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Say))


def _whole(reply: Reply, account: Account) -> Any:
    """Returns OpenAI's answer to a chat request without a stream, which agents send outside the conversation."""
    message = {"role": "assistant", "content": _text(reply)}
    usage = {"prompt_tokens": account.prompt, "completion_tokens": account.output}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }
