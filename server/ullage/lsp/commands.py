"""Commands for clients without our plugin: `workspace/executeCommand` with progress, a result and a message, and the
commands of the client's palette.

A command about a session takes the session's id as its first argument; the default is the client's own session
(`OwnSession`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct
from pygls.uris import to_fs_path

from ullage.agents.discovery import is_in
from ullage.api import agent_methods as agents
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.session_methods import SessionParams
from ullage.lsp.announce import Announcer
from ullage.lsp.connection import Progress, ProgressBoard
from ullage.model import words
from ullage.model.errors import InvalidRequest, SessionNotFound, UllageError
from ullage.model.updates import Severity
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.sub_agents import list_main
from ullage.service.imports import ImportOutcome

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
    the client gives none. If `takes_folders`, the arguments are paths of folders, by default the client's.
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


async def _compact(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    session_id, focus = _text(arguments, 0), _text(arguments, 1)
    progress.report("Writing the summary")
    done = await context.compact(workspace, context.CompactParams(session_id=session_id, focus=focus))
    # No message: the compaction publishes a notice of its own.
    return CommandOutcome(value=done, session_id=session_id)


async def _preview(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    params = context.CompactParams(session_id=session_id, focus=_text(arguments, 1), dry_run=True)
    seen = await context.compact(workspace, params)
    sizes = words.shrinking(seen.context_size_before, seen.context_size_after)
    return CommandOutcome(value=seen, session_id=session_id, message=f"{sizes}\n\n{seen.summary}")


async def _undo(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    before = workspace.open(session_id).used
    done = await context.undo(workspace, context.UndoParams(session_id=session_id, edit_id=_text(arguments, 1) or None))
    return CommandOutcome(value=done, session_id=session_id, message=words.undone(before, done.usage.used))


async def _context(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    usage = await context.get(workspace, SessionParams(session_id=session_id))
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    followed = (await agents.list_followed(workspace, agents.FollowingParams())).rows
    for row in followed:
        # The figure of a file's end is there before the whole file is read into its session.
        if row.session_id == session_id and row.used is not None and row.used_source is not None:
            line = words.context_line(row.used, row.window, row.used_source)
    return CommandOutcome(value=usage, session_id=session_id, message=line)


async def _sessions(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    listed = await session.list_sessions(workspace, session.ListSessionsParams(cwd=_text(arguments, 0) or None))
    lines = [f"{entry.session_id}  {entry.title}" for entry in listed.sessions]
    return CommandOutcome(value=listed, message="\n".join(lines) or "No sessions yet.")


async def _import(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    path = _text(arguments, 0)
    progress.report(f"Reading {path}")
    done = await session.import_session(workspace, session.ImportParams(path=path or None))
    usage = done.session.usage
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    what = f"Imported {done.messages:,} messages ({done.format})."
    if done.outcome is ImportOutcome.UNCHANGED:
        what = f"Nothing new: all {done.messages:,} messages ({done.format}) were imported before."
    return CommandOutcome(value=done, session_id=done.session.session_id, message=f"{what} {line}")


async def _follow(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    folders = tuple(_text(arguments, place) for place in range(len(arguments)))
    progress.report("Reading the conversations of agents")
    done = await agents.start_following(workspace, agents.StartFollowingParams(folders=folders))
    # In a message of one line there is room for one conversation: the folder's, or else the last changed.
    own = [row for row in done.rows if any(is_in(row.cwd, folder) for folder in folders)]
    text = words.follows(len(done.rows))
    for row in (own or done.rows)[:1]:
        text = f"{text} {words.about(row.title, f'{row.agent}. {_row_line(row)}'.strip())}"
    return CommandOutcome(value=done, message=text)


def _row_line(row: agents.FollowedConversation) -> str:
    if row.used is None or row.used_source is None:
        return ""
    return words.context_line(row.used, row.window, row.used_source)


async def _unfollow(workspace: Workspace, _: Sequence[Any], __: Progress) -> CommandOutcome:
    done = await agents.stop_following(workspace, agents.FollowingParams())
    return CommandOutcome(value=done, message="The conversations of agents are not followed any more.")


COMMANDS: tuple[Command, ...] = (
    Command(name="ullage.compact", title="Compacting", run=_compact, takes_session=True),
    Command(name="ullage.preview", title="Previewing a compaction", run=_preview, takes_session=True),
    Command(name="ullage.undo", title="Undoing the last edit", run=_undo, takes_session=True),
    Command(name="ullage.context", title="Reading the context", run=_context, takes_session=True),
    Command(name="ullage.sessions", title="Listing sessions", run=_sessions),
    Command(name="ullage.import", title="Importing", run=_import),
    Command(name="ullage.follow", title="Following agents", run=_follow, takes_folders=True),
    Command(name="ullage.unfollow", title="Following no longer", run=_unfollow),
)


def _text(arguments: Sequence[Any], place: int) -> str:
    """Returns the text argument at the index `place`, or "" if it is missing or null. Raises `InvalidRequest` if it is
    not text."""
    given: Any = arguments[place] if place < len(arguments) else None
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidRequest(f"argument {place + 1} must be text, not {type(given).__name__}")
    return given
