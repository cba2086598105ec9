"""A server on Ullage's JSON-RPC code with a few toy methods and commands. As a script it serves on stdio."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from threading import Event
from typing import Any

from msgspec import Struct

from ullage.api.protocol import AnyMethod, Method
from ullage.lsp.connection import Progress
from ullage.lsp.server import Announcer, Command, CommandAnswer, LspServer, WorkspaceHooks
from ullage.model.errors import NothingToCompact, SessionNotFound
from ullage.model.settings import Settings
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import serve_stdio


class PingParams(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str = ""
    times: int = 1


class PingResult(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str


class EchoParams(Struct, frozen=True, kw_only=True):
    value: Any


class NeedyParams(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str


class Toy:
    """What the toy server got: settings in order, the workspace's listener, and the waiting requests that ran."""

    def __init__(self) -> None:
        self.settings: list[Settings] = []
        self.listeners: list[Announcer] = []
        self.cancelled_compactions: list[str] = []
        self.log: list[str] = []
        self.gate = asyncio.Event()
        self.warmed = Event()

    def server(self) -> LspServer:
        hooks = WorkspaceHooks(
            open=self._open,
            warm_up=self.warmed.set,
            configure=lambda _, settings: self.settings.append(settings),
            cancel_compaction=lambda _, session_id: self.cancelled_compactions.append(session_id),
        )
        return LspServer(hooks, self._methods(), self._commands(), "0.0.test")

    def _open(self, announcer: Announcer, _: Settings) -> Workspace:
        self.listeners.append(announcer)
        # Before the first request for the workspace, nothing of it is imported.
        from support.workspace import CountingIds, FixedClock, build_test_workspace  # noqa: PLC0415

        return build_test_workspace(FixedClock(), CountingIds())

    def _methods(self) -> Sequence[AnyMethod]:
        return (
            Method(name="ping", params=PingParams, result=PingResult, handler=self._ping),
            Method(name="echo", params=EchoParams, result=object, handler=self._echo),
            Method(name="wait", params=NeedyParams, result=str, handler=self._wait),
            Method(name="missing", params=NeedyParams, result=str, handler=self._missing),
            Method(name="crash", params=PingParams, result=str, handler=self._crash),
            Method(name="unsendable", params=PingParams, result=object, handler=self._unsendable),
            Method(name="print", params=PingParams, result=str, handler=self._print),
        )

    def _commands(self) -> Sequence[Command]:
        return (
            Command(name="ullage.shrink", title="Shrinking", run=self._shrink),
            Command(name="ullage.wait", title="Waiting", run=self._wait_command),
            Command(name="ullage.nothing", title="Nothing", run=self._nothing),
        )

    async def _ping(self, workspace: Workspace, params: PingParams) -> PingResult:
        return PingResult(session_id=params.session_id)

    async def _echo(self, workspace: Workspace, params: EchoParams) -> object:
        return params.value

    async def _wait(self, workspace: Workspace, params: NeedyParams) -> str:
        self.log.append(f"start {params.session_id}")
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.log.append(f"cancelled {params.session_id}")
            raise
        return params.session_id

    async def _missing(self, workspace: Workspace, params: NeedyParams) -> str:
        raise SessionNotFound(f"There is no session {params.session_id}; list them with session/list.")

    async def _crash(self, workspace: Workspace, params: PingParams) -> str:
        raise ZeroDivisionError("secret of a library")

    async def _unsendable(self, workspace: Workspace, params: PingParams) -> object:
        return object()

    async def _print(self, workspace: Workspace, params: PingParams) -> str:
        sys.stdout.write("stray\n" * params.times)
        sys.stdout.flush()
        return "printed"

    async def _shrink(self, workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
        progress.report("half way", 50)
        return CommandAnswer(value={"arguments": list(arguments)}, message="Shrunk.")

    async def _wait_command(self, workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
        await self._wait(workspace, NeedyParams(session_id="command"))
        return CommandAnswer()

    async def _nothing(self, workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
        raise NothingToCompact("Nothing to compact: 6 messages, 4K tokens.")


def run(_: Sequence[str] = ()) -> None:
    """Runs the server, and ends this process."""
    sys.exit(serve_stdio(Toy().server().connection, AsyncExitStack()))


def prepare() -> Callable[[Sequence[str]], None]:
    """For copies of a process that has imported this module."""
    return run


if __name__ == "__main__":
    run()
