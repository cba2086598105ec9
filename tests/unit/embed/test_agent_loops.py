"""Long agent loops with the providers' own clients, against a server that refuses what the real one does: in every way
of making room no request is refused, and the marks of the prompt cache stay where the program put them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import pytest

from support.fill import EXCHANGES_BELOW_WARNING, prompt, reply
from support.wire.clients import DIALECTS, KEY
from support.wire.replies import Call, Reply, Say, Think
from support.wire.server import Received, WireServer
from support.workspace import PATIENCE
from ullage import AsyncContextManager, RangeTruncationStrategy, TruncationMode
from ullage.embed.adapters.framework_messages import Given, Mirror
from ullage.embed.adapters.openai_agents import UllageSession
from ullage.embed.manager import ContextPool
from ullage.service.conversation.conversation import Conversation

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
pytestmark = pytest.mark.no_cover

Json = dict[str, Any]
SHORT, LONG, WINDOW, ANSWER = 20, 200, 6_000, 300
MODEL = "test-model"
PROVIDERS = {"anthropic": "anthropic", "openai_chat": "openai", "openai": "openai-responses"}
CACHED: Json = {"cache_control": {"type": "ephemeral"}}
PROMPT: list[Json] = [{"type": "text", "text": "You count trees."}, {"type": "text", "text": "Be exact.", **CACHED}]
SCHEMA: Json = {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]}
TOOLS: dict[str, list[Json]] = {
    "anthropic": [{"name": "count", "description": "Counts.", "input_schema": SCHEMA, **CACHED}],
    "openai_chat": [{"type": "function", "function": {"name": "count", "parameters": SCHEMA}}],
    "openai": [{"type": "function", "name": "count", "parameters": SCHEMA, "strict": False}],
}
# The turns whose question has a mark of the cache: with the prompt's and the tool's they are the four that Anthropic
# allows ("Prompt caching").
MARKED = {0, SHORT // 2}
WAYS: dict[str, Json] = {
    **{mode.value: {"mode": mode} for mode in TruncationMode},
    **{f"keep {keep}": {"strategy": RangeTruncationStrategy(keep)} for keep in ("none", "lastTwo", "half", "quarter")},
}


def asks(turn: int, kind: str) -> Json:
    text = f"Question {turn}: how many trees stand in rows {turn} and {turn + 1}? " + "Look twice. " * 10
    if kind != "anthropic":
        return {"role": "user", "content": text}
    block: Json = {"type": "text", "text": text}
    return {"role": "user", "content": [{**block, **CACHED} if turn in MARKED else block]}


def results(kind: str, calls: list[str]) -> list[Json]:
    text = "A row of oak, ash and elm. " * 20
    match kind:
        case "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call in calls]
            return [{"role": "user", "content": blocks}]
        case "openai":
            return [{"type": "function_call_output", "call_id": call, "output": text} for call in calls]
        case _:
            return [{"role": "tool", "tool_call_id": call, "content": text} for call in calls]


class Model:
    """Thinks and calls the tool twice at once for each question, then answers."""

    def __init__(self, kind: str) -> None:
        self._kind, self._answers = kind, 0

    def __call__(self, _: Received) -> Reply:
        self._answers += 1
        turn, is_last = divmod(self._answers - 1, 2)
        if is_last:
            return Reply(parts=(Say(f"Answer {turn}: " + "thirty trees, " * 20 + "that is all."),))
        rows = [Call(id=f"call_{turn}_{row}", name="count", arguments=json.dumps({"row": row})) for row in (1, 2)]
        thought = () if self._kind == "openai_chat" else (Think("I have to count them first."),)
        return Reply(parts=(*thought, *rows))


@asynccontextmanager
async def client_of(server: WireServer) -> AsyncGenerator[Any]:
    made = anthropic.AsyncAnthropic if server.dialect.name == "anthropic" else openai.AsyncOpenAI
    async with made(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        yield client


async def answered(client: Any, kind: str, request: Json) -> Any:
    match kind:
        case "anthropic":
            async with client.messages.stream(model=MODEL, max_tokens=ANSWER, **request) as stream:
                return await stream.get_final_message()
        case "openai":
            options: Json = {"max_output_tokens": ANSWER, "store": False, "include": ["reasoning.encrypted_content"]}
            async with client.responses.stream(model=MODEL, **options, **request) as stream:
                return await stream.get_final_response()
        case _:
            options = {"max_completion_tokens": ANSWER, "stream_options": {"include_usage": True}}
            async with client.chat.completions.stream(model=MODEL, **options, **request) as stream:
                return await stream.get_final_completion()


def handed(answer: Any, kind: str, turn: int) -> list[Any]:
    """Returns an answer in one of the forms in which programs hand it over, another one in each turn: whole, as plain
    values, or its parts."""
    match kind, turn % 4:
        case _, 0:
            return [answer]
        case _, 1:
            return [answer.model_dump()]
        case _, 2:
            return [json.loads(answer.to_json())]
        case "anthropic", _:
            return [{"role": answer.role, "content": answer.content}]
        case "openai", _:
            return [*answer.output]
        case _:
            return [answer.choices[0].message]


def marked(value: Any) -> Iterator[Json]:
    """The objects in a request that have a mark of the cache."""
    if isinstance(value, dict) and "cache_control" in value:
        yield cast("Json", value)
    inner: list[Any] = list(cast("Json", value).values()) if isinstance(value, dict) else []
    inner += cast("list[Any]", value) if isinstance(value, list) else []
    for one in inner:
        yield from marked(one)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("turns", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
async def test_no_request_of_a_long_loop_is_refused(turns: int, kind: str, way: str) -> None:
    server = WireServer(DIALECTS[kind](), Model(kind), window=WINDOW)
    system = PROMPT if kind == "anthropic" else "You count trees."
    manager = AsyncContextManager(
        "gpt-4o",
        provider=PROVIDERS[kind],
        window=WINDOW,
        max_output=ANSWER,
        system=system,
        tools=TOOLS[kind],
        **WAYS[way],
    )
    given: list[Json] = []
    async with server.serving(), client_of(server) as client, manager:
        for turn in range(turns):
            question = asks(turn, kind)
            given.append(question)
            await manager.add_message(question)
            calls = handed(await answered(client, kind, await manager.get_request()), kind, turn)
            outcomes = results(kind, [f"call_{turn}_1", f"call_{turn}_2"])
            # All in one call, or one after the other.
            for messages in [[*calls, *outcomes]] if turn % 3 else [[one] for one in (*calls, *outcomes)]:
                await manager.add_message(*messages)
            request = await manager.get_request()
            assert question["content"] in [message.get("content") for message in sent(request)]
            await manager.add_message(*handed(await answered(client, kind, request), kind, turn + 1))
        edits = await manager.history()
    assert len(server.asked) == 2 * turns
    assert edits, "the loop is longer than the window"
    if kind == "anthropic":
        for received in server.asked:
            assert received.body["system"] == PROMPT
            assert received.body["tools"] == TOOLS[kind]
            check_marks(received.body["messages"], given)


def sent(request: Json) -> list[Json]:
    return request.get("messages") or request["input"]


def check_marks(messages: list[Json], given: list[Json]) -> None:
    """Only questions that were given with a mark have one, and none of those that are sent whole has lost it."""
    mine = list(marked(given))
    assert all(block in mine for block in marked(messages))
    texts = [block["text"] for message in messages for block in message["content"] if block["type"] == "text"]
    assert [block for block in mine if block["text"] in texts] == list(marked(messages))


# An adapter reads a conversation for a summary in the time until the framework's next request


# Tokens. The messages below take more than half of what this window holds before a compaction.
LONG_WINDOW = 8_192


def said(role: str, text: str) -> Given:
    raw = {"role": role, "content": text}
    return Given(id=text[:20], raw=raw, read=[raw])


def exchanges(count: int) -> list[Given]:
    return [one for number in range(count) for one in (said("user", prompt(number)), said("assistant", reply(number)))]


async def read_to(conversation: Conversation) -> int:
    """Waits until nothing is left to read, and returns how many messages were read ahead."""
    while conversation.work.reading is not None:
        _, unread = await asyncio.wait([conversation.work.reading], timeout=PATIENCE)
        assert not unread
    return conversation.guards.read_to


async def test_a_frameworks_messages_are_read_once_they_are_taken_over() -> None:
    with ContextPool("gpt-4o", window=LONG_WINDOW) as pool:
        given = exchanges(EXCHANGES_BELOW_WARNING)
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
        assert len(shown) == len(given)
        assert await pool.wait_for("s", read_to) == len(given)


async def test_a_short_conversation_of_a_framework_is_not_read() -> None:
    with ContextPool("gpt-4o", window=LONG_WINDOW) as pool:
        await pool.wait_for("s", partial(Mirror("framework").fit, exchanges(1)))
        assert await pool.wait_for("s", read_to) == 0


async def test_the_items_of_an_agents_session_are_read_once_they_are_added() -> None:
    with ContextPool("gpt-4o", window=LONG_WINDOW) as pool:
        items = [one.raw for one in exchanges(EXCHANGES_BELOW_WARNING)]
        await UllageSession("s", pool).add_items(items)
        assert await pool.wait_for("s", read_to) == len(items)
