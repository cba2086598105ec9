"""Commands for clients without our plugin: `workspace/executeCommand` with progress, a result and a line of words."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from ullage.lsp.announce import Announcer
from ullage.lsp.progress import Progress, ProgressBoard
from ullage.model.errors import InvalidRequest
from ullage.model.updates import Severity
from ullage.service.conversation.workspace import Workspace


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """What a command gives: `value` is the request's result, `message` is shown to a plain client."""

    value: Any = None
    message: str = ""
    severity: Severity = Severity.INFO


class Command(Struct, frozen=True, kw_only=True):
    """A command: its id (`ullage.compact`), the title of its progress, and what it does.

    `run` gets the client's arguments as plain JSON values; it raises an `UllageError` or is cancelled like any
    coroutine.
    """

    name: str
    title: str
    run: Callable[[Workspace, Sequence[Any], Progress], Awaitable[CommandOutcome]]


class ExecuteCommandParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """The protocol's own params, with arguments left as they came."""

    command: str
    arguments: tuple[Any, ...] | None = None
    work_done_token: int | str | None = None


class CommandRunner:
    """Runs commands by name, each within a progress bar whose Cancel cancels it."""

    def __init__(
        self,
        commands: Sequence[Command],
        workspace: Callable[[], Workspace],
        board: ProgressBoard,
        announcer: Announcer,
    ) -> None:
        self._commands = {command.name: command for command in commands}
        self._workspace = workspace
        self._board = board
        self._announcer = announcer

    @property
    def names(self) -> list[str]:
        """For `executeCommandProvider`."""
        return list(self._commands)

    async def execute(self, params: ExecuteCommandParams) -> Any:
        """Serves `workspace/executeCommand`."""
        command = self._commands.get(params.command)
        if command is None:
            raise InvalidRequest(f"There is no command {params.command}; there are {', '.join(self._commands)}.")
        task = asyncio.current_task()
        assert task is not None
        async with self._board.show(command.title, task.cancel, params.work_done_token) as progress:
            outcome = await command.run(self._workspace(), params.arguments or (), progress)
        if outcome.message:
            self._announcer.say(outcome.message, outcome.severity)
        return outcome.value
