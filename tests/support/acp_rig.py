"""The agent in process: messages in by `send`, messages out in `sent`, each checked against the official schema."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from support.acp_schema import faults_in_error, faults_in_params, faults_in_result, has_schema
from support.lsp_client import PATIENCE, RpcFailure
from ullage.acp.agent import Agent
from ullage.app.acp_agent import make_agent
from ullage.model.settings import Settings

Json = dict[str, Any]
MakeRig = Callable[[Settings], "AcpRig"]
ALL_CAPABILITIES: Json = {"session": {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}}}


def stored_rig(store: Path, settings: Settings | None = None) -> "AcpRig":
    """Returns a rig whose agent keeps its sessions at `store`."""
    closing = AsyncExitStack()
    return AcpRig(make_agent(closing, store, settings or Settings()), closing)


class AcpRig:
    """The client's end of one in-process agent. `answers` are given to the agent's requests. `wire` has all messages
    with their sender, `client` or `agent`. The client reads only while `reads` is set. If `stops_reading_at` is
    given, reading stops at the first message that contains it."""

    def __init__(self, agent: Agent, closing: AsyncExitStack | None = None) -> None:
        self.agent = agent
        self._closing = closing or AsyncExitStack()
        self.connection = agent.connection
        self.sent: list[Json] = []
        self.wire: list[tuple[str, Json]] = []
        self.faults: list[str] = []
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self._methods: dict[Any, str] = {}
        self._asked = 0
        self._changed = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.stops_reading_at = ""
        # The version that the agent has answered.
        self.version = 1
        self.connection.connect(self)

    def write(self, data: bytes) -> None:
        """Takes the bytes that the agent sends. Each line must be one message."""
        assert data.count(b"\n") == 1
        assert data.endswith(b"\n")
        message: Json = msgspec.json.decode(data)
        self.version = message.get("result", {}).get("protocolVersion", self.version)
        if has_schema():
            self.faults += self._judge(message)
        self.sent.append(message)
        self._changed.set()
        self.wire.append(("agent", message))
        if self.stops_reading_at and self.stops_reading_at in data.decode():
            self.reads.clear()
        if "id" in message and message.get("method") in self.answers:
            result = self.answers[message["method"]](message["params"])
            asyncio.get_running_loop().call_soon(self.send, {"id": message["id"], "result": result})

    @property
    def has_room(self) -> bool:
        return self.reads.is_set()

    async def drain(self) -> None:
        await self.reads.wait()

    def send(self, message: Json) -> None:
        if "method" in message and "id" in message:
            self._methods[message["id"]] = message["method"]
        message = {"jsonrpc": "2.0", **message}
        self.wire.append(("client", message))
        self.send_line(msgspec.json.encode(message))

    def send_line(self, line: bytes) -> None:
        self.connection.feed(line + b"\n")

    async def hang_up(self) -> None:
        """Ends the agent as its process does: what still runs, the connections to providers, and the store."""
        self.reads.set()
        await self.connection.drain(PATIENCE)
        await self._closing.aclose()

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        return self._asked

    async def ask(self, method: str, **params: Any) -> Any:
        """Returns the result of a request. Raises `RpcFailure` for an error."""
        return await self.answer(self.start(method, **params))

    async def answer(self, request_id: int | str | None) -> Any:
        message = await self.until(lambda message: "method" not in message and message["id"] == request_id)
        self.sent.remove(message)
        if "error" in message:
            raise RpcFailure(message["error"])
        return message["result"]

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    async def until(self, fits: Callable[[Json], bool]) -> Json:
        """Waits for the first sent message that fits, sent already or later, and returns it."""
        seen = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                # All since the last look are among as many at the end.
                for message in self.sent[seen - len(self.wire) :]:
                    if fits(message):
                        return message
                seen = len(self.wire)
                self._changed.clear()
                await self._changed.wait()

    async def initialize(self, capabilities: Json | None = None, settings: Any = None) -> Json:
        meta = {} if settings is None else {"_meta": {"ullage": {"settings": settings}}}
        return await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {}, **meta)

    async def initialize_version_2(self, capabilities: Json | None = None) -> Json:
        info = {"name": "client", "version": "1"}
        return await self.ask("initialize", protocolVersion=2, info=info, capabilities=capabilities or {})

    async def new_session(self, cwd: str = "/project") -> str:
        """Starts a session, waits for all updates that a new session causes, and returns its id."""
        session_id: str = (await self.ask("session/new", cwd=cwd, mcpServers=[]))["sessionId"]
        await self.update(session_id, "usage_update", "session_info_update")
        return session_id

    async def prompt(self, session_id: str, text: str) -> Any:
        return await self.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])

    async def say(self, session_id: str, *texts: str) -> None:
        """Appends a conversation, with texts of the user and the model in turn."""
        roles = ("user", "assistant")
        messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
        await self.ask("_ullage/session/append", sessionId=session_id, messages=messages)

    async def update(self, session_id: str, *kinds: str) -> Json:
        """Waits for the first update of one of these kinds and returns it."""

        def fits(message: Json) -> bool:
            params = message.get("params", {})
            return params.get("sessionId") == session_id and params["update"]["sessionUpdate"] in kinds

        return (await self.until(fits))["params"]["update"]

    def updates(self, *kinds: str) -> list[Json]:
        """Returns the updates so far, all or of these kinds."""
        told = [message["params"]["update"] for message in self.sent if message.get("method") == "session/update"]
        return [update for update in told if not kinds or update["sessionUpdate"] in kinds]

    def text(self) -> str:
        """Returns the text of the agent's answers so far."""
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk"))

    def _judge(self, message: Json) -> list[str]:
        if "error" in message:
            return faults_in_error(message["error"], self.version)
        if "method" in message:
            return faults_in_params(message["method"], message["params"], self.version)
        method = self._methods.pop(message["id"])
        if method.startswith("_ullage/"):
            return []
        return faults_in_result(method, message["result"], self.version)
