"""The proxy in process, in front of a toy agent that is a process of its own, with a client's end to talk to it by."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.lsp_client import RpcFailure
from ullage.acp.proxy.connection import ProxyOptions
from ullage.acp.proxy.outlet import Outlet
from ullage.acp.proxy.recorder import Store
from ullage.acp.proxy.serve import Proxy
from ullage.app.compose import workspace_on
from ullage.model.settings import Settings
from ullage.service.workspace import Workspace
from ullage.store.sqlite_store import open_store

Json = dict[str, Any]
TOY = Path(__file__).with_name("toy_agent.py")
# A process has to start for each test, on a machine that runs others.
PATIENCE = 20.0
SHOWS_ALL: Json = {"session": {"compaction": {}, "notices": {}}}


class ProxyRig:
    """A client's end: lines in by `write`, lines out in `lines`, as bytes and as messages."""

    def __init__(self, command: Sequence[str], store: Path, options: ProxyOptions, settings: Settings) -> None:
        self.lines: list[bytes] = []
        self.messages: list[Json] = []
        self.room = asyncio.Event()
        self.room.set()
        self._rest = b""
        self._given: asyncio.Queue[bytes] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._asked = 0
        self._store = open_store(store)
        opens = Store(prepare=lambda: None, open=lambda: workspace_on(self._store, settings))
        self.proxy = Proxy(command, opens, options, Outlet(self))

    async def read(self, _: int, /) -> bytes:
        return await self._given.get()

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.lines += [line + b"\n" for line in lines]
        self.messages += [json.loads(line) for line in lines]
        self._changed.set()

    async def drain(self) -> None:
        await self.room.wait()

    def close(self) -> None:
        pass

    def close_store(self) -> None:
        self._store.close()

    def give(self, data: bytes) -> None:
        """Bytes to the proxy; none for the end."""
        self._given.put_nowait(data)

    def send(self, message: Json) -> None:
        self.give(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start(self, method: str, **params: Any) -> int:
        """Sends a request, and gives its id."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        return self._asked

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request; raises `RpcFailure` for an error."""
        return await self.answer(self.start(method, **params))

    async def answer(self, request_id: int) -> Any:
        message = await self.until(lambda message: "method" not in message and message.get("id") == request_id)
        if "error" in message:
            raise RpcFailure(message["error"])
        return message["result"]

    async def until(self, fits: Callable[[Json], bool]) -> Json:
        """The first message that fits, now or soon."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [message for message in self.messages if fits(message)]):
                self._changed.clear()
                await self._changed.wait()
        return found[0]

    async def open(self, capabilities: Json | None = None) -> str:
        """Greets the agent and starts a session; its id."""
        await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        return (await self.ask("session/new", cwd="/work", mcpServers=[]))["sessionId"]

    async def prompt(self, session_id: str, text: str) -> str:
        """One turn; the text that came before its end."""
        before = len(self.messages)
        await self.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])
        told = [message["params"]["update"] for message in self.messages[before:] if "params" in message]
        return "".join(update["content"]["text"] for update in told if update["sessionUpdate"] == "agent_message_chunk")

    def updates(self, kind: str) -> list[Json]:
        """The session updates of one kind so far."""
        told = [message["params"]["update"] for message in self.messages if message.get("method") == "session/update"]
        return [update for update in told if update["sessionUpdate"] == kind]

    async def record(self) -> Workspace:
        """The workspace, once everything so far is in it."""
        workspace = await self.proxy.connection.recorder.settled()
        assert workspace is not None
        return workspace


@asynccontextmanager
async def proxy_rig(
    folder: Path, agent: Json, options: ProxyOptions | None = None, settings: Settings | None = None
) -> AsyncGenerator[ProxyRig]:
    """A proxy on a store in a folder, with a toy agent of these abilities, while the block runs."""
    command = [sys.executable, str(TOY), json.dumps({"state": str(folder), **agent})]
    async with running(command, folder, options, settings) as rig:
        yield rig


@asynccontextmanager
async def running(
    command: Sequence[str], folder: Path, options: ProxyOptions | None = None, settings: Settings | None = None
) -> AsyncGenerator[ProxyRig]:
    """A proxy in front of any agent, while the block runs."""
    rig = ProxyRig(command, folder / "sessions.db", options or ProxyOptions(), settings or Settings())
    await rig.proxy.connection.agent.start()
    task = asyncio.ensure_future(rig.proxy.run(rig))
    try:
        yield rig
    finally:
        rig.room.set()
        rig.give(b"")
        await asyncio.wait_for(task, PATIENCE)
        rig.close_store()
