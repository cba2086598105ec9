"""The proxy in process, with a toy agent that is a process of its own, and a client's end."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from support.acp_end import PATIENCE, AcpEnd, Json, is_ours
from support.acp_schema import faults_in_params, faults_in_result, has_schema
from ullage.app.compose import workspace_on
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions
from ullage.proxy.lines import Outlet
from ullage.proxy.record import Store
from ullage.proxy.serve import Proxy
from ullage.service.conversation.workspace import Workspace
from ullage.store.sqlite.sqlite_store import open_store

TOY = Path(__file__).with_name("toy_agent.py")


class ProxyRig(AcpEnd):
    """A client in the proxy's own process. While `room` is not set, the client takes nothing."""

    def __init__(self, command: Sequence[str], store: Path, options: ProxyOptions, settings: Settings) -> None:
        super().__init__()
        self.room = asyncio.Event()
        self.room.set()
        # Set once the proxy has closed its output.
        self.closed = asyncio.Event()
        self._given: asyncio.Queue[bytes] = asyncio.Queue()
        self._store = open_store(store)
        opens = Store(prepare=lambda: None, open=lambda: workspace_on(self._store, settings))
        self.proxy = Proxy([list(one) for one in _commands(command)], opens, options, Outlet(self))

    async def read(self) -> bytes:
        return await self._given.get()

    def write(self, data: bytes) -> None:
        self.take(data)

    @property
    def has_room(self) -> bool:
        return self.room.is_set()

    async def drain(self) -> None:
        await self.room.wait()

    async def flush(self, patience: float) -> None:
        pass

    def close(self) -> None:
        self._store.close()
        self.closed.set()

    def send_line(self, line: bytes) -> None:
        self._given.put_nowait(line)

    def end(self) -> None:
        """Disconnects the client."""
        self._given.put_nowait(b"")

    async def record(self) -> Workspace:
        """Waits until everything so far is recorded, and returns the workspace."""
        workspace = await self.proxy.connection.recorder.settled()
        assert workspace is not None
        return workspace


@asynccontextmanager
async def proxy_rig(
    folder: Path, agent: Json, options: ProxyOptions | None = None, settings: Settings | None = None
) -> AsyncGenerator[ProxyRig]:
    """Runs a proxy on a store in a folder, with a toy agent of these abilities, while the block runs."""
    # It needs no installed packages, and is not traced.
    command = [sys.executable, "-S", str(TOY), json.dumps({"state": str(folder), **agent})]
    async with running(command, folder, options, settings) as rig:
        yield rig


@asynccontextmanager
async def running(
    command: Sequence[str], folder: Path, options: ProxyOptions | None = None, settings: Settings | None = None
) -> AsyncGenerator[ProxyRig]:
    """Runs a proxy with any agent while the block runs. Messages that the proxy adds are checked with the official
    schema."""
    rig = ProxyRig(command, folder / "sessions.db", options or ProxyOptions(), settings or Settings())
    await rig.proxy.connection.agent.start()
    task = asyncio.ensure_future(rig.proxy.run(rig))
    try:
        yield rig
    finally:
        rig.room.set()
        rig.end()
        await asyncio.wait_for(task, PATIENCE)
    if has_schema():
        version = rig.proxy.connection.version
        assert [fault for line in rig.lines if is_ours(line) for fault in _faults(line, version)] == []


def _commands(line: Sequence[str]) -> list[list[str]]:
    """Returns the agents' commands in a command line that has `--then` between them, as for `ullage acp`."""
    commands: list[list[str]] = [[]] if line else []
    for word in line:
        commands.append([]) if word == "--then" else commands[-1].append(word)
    return commands


def _faults(line: bytes, version: int) -> list[str]:
    message: Json = json.loads(line)
    if "method" not in message:
        # The agent's answer to `initialize`, to which the proxy adds, or a result of a method of Ullage's own.
        result = message["result"]
        return faults_in_result("initialize", result, version) if "protocolVersion" in result else []
    return faults_in_params(message["method"], message["params"], version)
