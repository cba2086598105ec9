"""Commands for clients without our plugin: `workspace/executeCommand` with progress, a result and a message."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct
from pygls.uris import to_fs_path

from ullage.agents.discovery import is_in
from ullage.lsp.announce import Announcer
from ullage.lsp.progress import Progress, ProgressBoard
from ullage.model.errors import InvalidRequest, SessionNotFound, UllageError
from ullage.model.updates import Severity
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.sub_agents import list_main

# Sessions among which one of the client's folders is looked for, last changed first.
_MOST = 10_000


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """What a command returns. `value` is the result of the request. `message` is shown only by a plain client, one that
    doesn't understand `ullage/session/update`, after the title of the conversation; "" shows nothing. `session_id` is
    the session that the command was about, "" for none."""

    value: Any = None
    session_id: str = ""
    message: str = ""
    severity: Severity = Severity.INFO


class Command(Struct, frozen=True, kw_only=True):
    """A command: its id (`ullage.compact`), the title of its progress bar, and the function that runs it.

    `run` gets the client's arguments as plain JSON values. It raises `UllageError` if it fails, and it may be
    cancelled. If `takes_session`, the first argument is a session's id, and the client's own session is put there if
    the client gives none. If `takes_folders`, the arguments are paths of folders, those of the client if it gives none.
    """

    name: str
    title: str
    run: Callable[[Workspace, Sequence[Any], Progress], Awaitable[CommandOutcome]]
    takes_session: bool = False
    takes_folders: bool = False


class ExecuteCommandParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `workspace/executeCommand`, with the arguments as plain JSON values."""

    command: str
    arguments: tuple[Any, ...] | None = None
    work_done_token: int | str | None = None


class OwnSession:
    """The session that a client's commands are about if they name none: the last one that the client imported or named,
    in a command or in any method; before that, the one of its folders that changed last. Another client's session, or
    another folder's, is never chosen. `folders` returns the addresses of the client's folders."""

    def __init__(self, folders: Callable[[], Sequence[str]]) -> None:
        self._folders = folders
        self._named = ""

    def named(self, session_id: str) -> None:
        """Notes the session that the client has imported or named."""
        self._named = session_id or self._named

    @property
    def folders(self) -> tuple[str, ...]:
        """The paths of the client's folders."""
        return tuple(to_fs_path(one) or one for one in self._folders())

    def find(self, workspace: Workspace) -> str:
        """Returns the session's id. Raises `SessionNotFound` if the client named none and its folders have none."""
        store = workspace.ports.store
        if self._named and self._named in store.find_ids(self._named):
            return self._named
        folders = self.folders
        for info in list_main(store, None, _MOST) if folders else ():
            if any(is_in(info.cwd, folder) for folder in folders):
                return info.session_id
        raise SessionNotFound(
            "No conversation of this folder is stored. Follow those of agents (ullage.follow), import one "
            "(ullage.import), or name a session: ullage.sessions lists them."
        )


class CommandRunner:
    """Runs commands by name. While a command runs, the client shows a progress bar whose Cancel button cancels it."""

    def __init__(
        self,
        commands: Sequence[Command],
        workspace: Callable[[], Workspace],
        board: ProgressBoard,
        announcer: Announcer,
        own: OwnSession,
    ) -> None:
        self._commands = {command.name: command for command in commands}
        self._workspace = workspace
        self._board = board
        self._announcer = announcer
        self._own = own

    @property
    def names(self) -> list[str]:
        """The commands' ids, for `executeCommandProvider`."""
        return list(self._commands)

    async def execute(self, params: ExecuteCommandParams) -> Any:
        """Serves `workspace/executeCommand`: runs the command and returns its value.

        Raises `InvalidRequest` for an unknown command, and any `UllageError` of the command itself. A plain client is
        shown what the command returns, or why it failed.
        """
        command = self._commands.get(params.command)
        if command is None:
            raise InvalidRequest(f"There is no command {params.command}; there are {', '.join(self._commands)}.")
        task = asyncio.current_task()
        assert task is not None
        with self._announcer.command():
            try:
                outcome = await self._run(command, task, params)
            except UllageError as error:
                # Some clients only write a refused command to their logs.
                self._announcer.show_if_plain(str(error), Severity.ERROR)
                raise
            self._own.named(outcome.session_id)
            if outcome.message:
                text = self._announcer.titled(outcome.session_id, outcome.message)
                self._announcer.show_if_plain(text, outcome.severity)
        return outcome.value

    async def _run(self, command: Command, task: "asyncio.Task[Any]", params: ExecuteCommandParams) -> CommandOutcome:
        async with self._board.show(command.title, task.cancel, params.work_done_token) as progress:
            workspace, given = self._workspace(), params.arguments or ()
            if command.takes_session and (not given or given[0] in (None, "")):
                given = (self._own.find(workspace), *given[1:])
            if command.takes_folders and not given:
                given = self._own.folders
            return await command.run(workspace, given, progress)
