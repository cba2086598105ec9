"""Commands for clients without our plugin: `workspace/executeCommand` with progress, a result and a message."""

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
    """What a command returns. `value` is the result of the request. `message` is shown only by a plain client, one that
    doesn't understand `ullage/session/update`; "" shows nothing."""

    value: Any = None
    message: str = ""
    severity: Severity = Severity.INFO


class Command(Struct, frozen=True, kw_only=True):
    """A command: its id (`ullage.compact`), the title of its progress bar, and the function that runs it.

    `run` gets the client's arguments as plain JSON values. It raises `UllageError` if it fails, and it may be
    cancelled.
    """

    name: str
    title: str
    run: Callable[[Workspace, Sequence[Any], Progress], Awaitable[CommandOutcome]]


class ExecuteCommandParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `workspace/executeCommand`, with the arguments as plain JSON values."""

    command: str
    arguments: tuple[Any, ...] | None = None
    work_done_token: int | str | None = None


class CommandRunner:
    """Runs commands by name. While a command runs, the client shows a progress bar whose Cancel button cancels it."""

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
        """The commands' ids, for `executeCommandProvider`."""
        return list(self._commands)

    async def execute(self, params: ExecuteCommandParams) -> Any:
        """Serves `workspace/executeCommand`: runs the command and returns its value.

        Raises `InvalidRequest` for an unknown command, and any `UllageError` of the command itself.
        """
        command = self._commands.get(params.command)
        if command is None:
            raise InvalidRequest(f"There is no command {params.command}; there are {', '.join(self._commands)}.")
        task = asyncio.current_task()
        assert task is not None
        async with self._board.show(command.title, task.cancel, params.work_done_token) as progress:
            outcome = await command.run(self._workspace(), params.arguments or (), progress)
        if outcome.message:
            self._announcer.show_if_plain(outcome.message, outcome.severity)
        return outcome.value
