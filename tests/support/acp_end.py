"""The client's end of an ACP connection: what it received, as bytes and as messages, and its own requests."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from support.lsp_client import RpcFailure
from ullage.model.json_values import as_object

Json = dict[str, Any]
SHOWS_ALL: Json = {"session": {"compaction": {}, "notices": {}}}
# Seconds: processes have to start, on a machine that runs others.
PATIENCE = 180.0


class AcpEnd(ABC):
    """A client's end. Bytes arrive by `take`; `send_line` passes a line to the agent or the proxy. `allows` is the
    answer to the agent's requests, unless `answers` has another for the method. With `reads` off, lines are kept but
    not decoded; with `is_strict` off, lines that are no messages are passed over."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.messages: list[Json] = []
        self.allows: Json | None = None
        self.answers: dict[str, Callable[[Json], Json]] = {}
        self.reads = True
        self.is_strict = True
        # The version that the client asks for.
        self.version = 1
        self._rest = bytearray()
        self._changed = asyncio.Event()
        self._asked = 0

    @abstractmethod
    def send_line(self, line: bytes) -> None:
        """Passes a line to the other end."""

    def take(self, data: bytes) -> None:
        """Takes bytes of the other end, split anywhere."""
        self._rest += data
        if b"\n" not in data:
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        self.lines += [line + b"\n" for line in lines]
        if self.reads:
            for line in lines:
                if (message := self._decode(line)) is not None:
                    self._read(message)
        self._changed.set()

    def _decode(self, line: bytes) -> Json | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            if self.is_strict:
                raise
            return None
        return message if self.is_strict else as_object(message) or None

    def _read(self, message: Json) -> None:
        self.messages.append(message)
        if "method" not in message or "id" not in message:
            return
        if answer := self.answers.get(message["method"]):
            self.send({"id": message["id"], "result": answer(message["params"])})
        elif self.allows is not None:
            self.send({"id": message["id"], "result": self.allows})

    def send(self, message: Json) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        return self._asked

    async def ask(self, method: str, **params: Any) -> Any:
        """Returns the result of a request. Raises `RpcFailure` for an error."""
        return await self.answer(self.start(method, **params))

    async def answer(self, request_id: int) -> Any:
        message = await self.until(lambda message: "method" not in message and message.get("id") == request_id)
        if "error" in message:
            raise RpcFailure(message["error"])
        return message["result"]

    async def until(self, fits: Callable[[Json], bool]) -> Json:
        """Waits for the first message that fits, received already or later, and returns it."""
        seen = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                for message in self.messages[seen:]:
                    if fits(message):
                        return message
                seen = len(self.messages)
                self._changed.clear()
                await self._changed.wait()

    async def until_line(self, line: bytes) -> None:
        """Waits until this line was received, for as long as others come."""
        while line not in self.lines[-100:]:
            self._changed.clear()
            async with asyncio.timeout(PATIENCE):
                await self._changed.wait()

    async def until_lines(self, count: int) -> None:
        """Waits until so many lines of the agent itself were received, for as long as lines come."""
        while sum(not is_ours(line) for line in self.lines) < count:
            self._changed.clear()
            async with asyncio.timeout(PATIENCE):
                await self._changed.wait()

    async def open(self, capabilities: Json | None = None, cwd: str = "/work") -> str:
        """Makes the handshake, starts a session and returns its id."""
        await self.greet(capabilities)
        return (await self.ask("session/new", cwd=cwd, mcpServers=[]))["sessionId"]

    async def greet(self, capabilities: Json | None = None) -> Json:
        if self.version == 2:
            info = {"name": "client", "version": "1"}
            return await self.ask("initialize", protocolVersion=2, info=info, capabilities={})
        return await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {})

    async def load(self, session_id: str, cwd: str) -> Json:
        """Opens a former session, whose history is replayed."""
        if self.version == 2:
            start = {"type": "start"}
            return await self.ask("session/resume", sessionId=session_id, cwd=cwd, mcpServers=[], replayFrom=start)
        return await self.ask("session/load", sessionId=session_id, cwd=cwd, mcpServers=[])

    def ends(self) -> list[Json]:
        """Returns the ends of turns so far, as version 2 has them."""
        return [update for update in self.updates("state_update") if update.get("stopReason")]

    async def prompt(self, session_id: str, text: str) -> str:
        """Runs one turn and returns the text that came before its end."""
        before, ended = len(self.messages), len(self.ends())
        await self.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])
        if self.version == 2:
            await self.until(lambda _: len(self.ends()) > ended)
        told = [message["params"]["update"] for message in self.messages[before:] if _is_update(message)]
        return "".join(update["content"]["text"] for update in told if update["sessionUpdate"] == "agent_message_chunk")

    def updates(self, kind: str) -> list[Json]:
        """Returns the session updates of one kind so far."""
        told = [message["params"]["update"] for message in self.messages if _is_update(message)]
        return [update for update in told if update["sessionUpdate"] == kind]


def _is_update(message: Json) -> bool:
    return message.get("method") == "session/update"


def is_ours(line: bytes) -> bool:
    """Whether the proxy itself made this update. The proxy's encoder writes no spaces."""
    return b'"_meta":{"ullage":' in line
