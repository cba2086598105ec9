"""The Language Server: Ullage's methods, the commands and the settings on one connection, and what it sends to the
client.

A client that knows Ullage gets `ullage/session/update`. A plain client gets messages and progress bars, and has
commands: `workspace/executeCommand`, and the client's palette. A command about a session takes the session's id as its
first argument; the default is the client's own session (`OwnSession`).

For debugging, every message can be written to a file, one JSON object per line. It contains the whole session, so only
its owner can read it."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from lsprotocol import types
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace
from pygls.uris import to_fs_path

from ullage.agents.discovery import is_in
from ullage.api import agent_methods as agents
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.agent_methods import FOLLOWING_CHANGED, FollowingChange, wire_rows
from ullage.api.client_requests import ClientModels, ClientPermissions
from ullage.api.engine import Reply
from ullage.api.protocol import UPDATE, AnyMethod, SessionNotification
from ullage.api.session_methods import SessionParams
from ullage.jsonrpc.envelope import MAX_BODY, BadFrame, FrameParser
from ullage.lsp.connection import (
    Client,
    Configuration,
    DidChangeConfigurationParams,
    LspConnection,
    Progress,
    ProgressBoard,
    Pygls,
    read_client,
)
from ullage.model import words
from ullage.model.errors import InvalidRequest, SessionNotFound, UllageError
from ullage.model.events import EditTrigger
from ullage.model.json_values import encode_json
from ullage.model.settings import Settings
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    Severity,
    Update,
)
from ullage.model.usage import FollowedRow, Nearness
from ullage.service.archive.naming import list_main
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Indexing
from ullage.service.sessions import ImportOutcome
from ullage.system.desktop import shows
from ullage.system.stdio import Connection, Writer

UPDATE_METHOD = f"ullage/{UPDATE}"
_CHANGED_METHOD = f"ullage/{FOLLOWING_CHANGED}"
MESSAGE_TYPES = {
    Severity.INFO: types.MessageType.Info,
    Severity.WARNING: types.MessageType.Warning,
    Severity.ERROR: types.MessageType.Error,
}
# A message is due where a conversation moves in this order.
_NEARER = (Nearness.FAR, Nearness.NEAR, Nearness.IMMINENT)


class _Bar:
    """A progress bar: a queue of lines, which ends with None. `characters` counts those of the summary so far."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.characters = 0


class Announcer:
    """Listens to a workspace: sends the session updates and the progress of indexing to the client.

    On a plain client, which doesn't understand `ullage/session/update`, an automatic compaction gets a progress bar
    whose Cancel button calls `cancel_compaction` with the session's id. Each message names the conversation by what
    `title_of` returns for the session's id, "" if it has no title.
    """

    def __init__(
        self,
        connection: LspConnection,
        board: ProgressBoard,
        cancel_compaction: Callable[[str], object],
        title_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._connection = connection
        self._board = board
        self._cancel_compaction = cancel_compaction
        self._title_of = title_of
        self._bars: dict[str, _Bar] = {}
        self._nearness: dict[str, Nearness] = {}
        # Commands that run now, and the messages that wait for their ends.
        self._commands = 0
        self._waiting: list[tuple[str, Severity]] = []
        self.client = Client()
        # Whether the user is told of followed conversations by notifications of the operating system.
        self.on_desktop: Callable[[], bool] = lambda: False

    def session_updated(self, session_id: str, update: Update) -> None:
        """Sends one update to the client. A plain client gets a message for a notice, a progress bar for an automatic
        compaction, and nothing for other updates."""
        if self.client.takes_updates:
            self._connection.notify(UPDATE_METHOD, SessionNotification(session_id=session_id, update=update))
            return
        match update:
            case Notice():
                self.show_if_plain(self.titled(session_id, _notice_text(update)), update.severity)
            case CompactionUpdate(status=CompactionStatus.IN_PROGRESS):
                self._begin(session_id, update)
            case CompactionUpdate():
                self._end(update)
            case CompactionSummaryChunk():
                if (bar := self._bars.get(update.compaction_id)) is not None:
                    bar.characters += len(update.content.text)
                    bar.lines.put_nowait(f"Writing the summary: {bar.characters:,} characters")
            case _:
                pass

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        """Sends the followed conversations that have changed. Only a client that asked for them gets any. A plain one
        gets a message when a conversation comes nearer to its compaction or to the end of its window."""
        for row in rows:
            before = self._nearness.get(row.session_id, Nearness.FAR)
            # A compaction that was not done yet, or has failed, is no nearer after it.
            now = before if row.nearness is Nearness.COMPACTING else row.nearness or Nearness.FAR
            self._nearness[row.session_id] = now
            if row.used and row.window and _NEARER.index(now) > _NEARER.index(before):
                text = words.context_warning(row.used, row.window, row.compacts_at, agent=row.agent)
                self.show_if_plain(words.about(row.title, text), Severity.WARNING)
        self._connection.notify(
            _CHANGED_METHOD, FollowingChange(rows=wire_rows(rows), gone=tuple(gone), desktop=self.on_desktop())
        )

    def indexing(self, progress: Indexing) -> None:
        """Shows, in a progress bar, how many records of the archive are left to index before a search can run. Removes
        the bar when none are left. The bar's Cancel button cancels the search."""
        if progress.id not in self._bars:
            self._draw(progress.id, "Indexing the archive", progress.cancel)
        bar = self._bars[progress.id]
        if progress.left:
            bar.lines.put_nowait(f"{progress.left:,} of {progress.total:,} records left")
        else:
            del self._bars[progress.id]
            bar.lines.put_nowait(None)

    def show_if_plain(self, text: str, severity: Severity) -> None:
        """Shows a message in a plain client, one that doesn't understand `ullage/session/update`. Sends nothing to
        other clients, because they get the updates and show messages of their own."""
        if self.client.takes_updates:
            return
        if self._commands:
            self._waiting.append((text, severity))
        else:
            self.warn(text, severity)

    @contextmanager
    def command(self) -> Generator[None]:
        """While the block runs, messages wait for its end: where a progress bar and messages have the same line, as in
        Helix, the end of the bar removes what was shown before."""
        self._commands += 1
        try:
            yield
        finally:
            self._commands -= 1
            if not self._commands:
                waiting, self._waiting = self._waiting, []
                for text, severity in waiting:
                    self.warn(text, severity)

    def titled(self, session_id: str, text: str) -> str:
        """Returns a message with the title of the session that it is about, "" for none."""
        return words.about(self._title_of(session_id), text) if session_id else text

    def warn(self, text: str, severity: Severity = Severity.WARNING) -> None:
        """Shows a message in every client, plain or not."""
        params = types.ShowMessageParams(type=MESSAGE_TYPES[severity], message=text)
        self._connection.notify(types.WINDOW_SHOW_MESSAGE, params)

    def _begin(self, session_id: str, update: CompactionUpdate) -> None:
        # A compaction that the user asked for is shown in the progress bar of its command.
        if update.meta is UNSET or update.meta.ullage.trigger != EditTrigger.AUTOMATIC:
            return
        self._draw(update.compaction_id, "Compacting", lambda: self._cancel_compaction(session_id))

    def _draw(self, bar_id: str, title: str, cancel: Callable[[], object]) -> None:
        bar = self._bars[bar_id] = _Bar()
        self._connection.spawn(self._follow(bar, title, cancel))

    async def _follow(self, bar: _Bar, title: str, cancel: Callable[[], object]) -> None:
        async with self._board.show(title, cancel) as progress:
            while (line := await bar.lines.get()) is not None:
                progress.report(line)

    def _end(self, update: CompactionUpdate) -> None:
        if (bar := self._bars.pop(update.compaction_id, None)) is None:
            return
        if update.status is CompactionStatus.COMPLETED and update.meta is not UNSET:
            bar.lines.put_nowait(_compacted(update.meta.ullage))
        bar.lines.put_nowait(None)


def _notice_text(notice: Notice) -> str:
    return notice.title if notice.description is UNSET else f"{notice.title} {notice.description}"


def _compacted(done: CompactionMeta) -> str:
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)


# Sessions among which one of the client's folders is looked for, last changed first.
_MOST = 10_000


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """What a command returns. `value` is the result of the request. `message` is shown only by a plain client, one that
    doesn't understand `ullage/session/update`, after the title of the conversation; "" shows nothing. `session_id` is
    the session that the command was about, "" for none."""

    value: Any = None
    session_id: str = ""
    message: str = ""


class Command(Struct, frozen=True, kw_only=True):
    """A command: its id (`ullage.compact`), the title of its progress bar, and the function that runs it.

    `run` gets the client's arguments as plain JSON values. It raises `UllageError` if it fails, and it may be
    cancelled. If `takes_session`, the first argument is a session's id, and the client's own session is put there if
    the client gives none. If `takes_folders`, the arguments are paths of folders, by default the client's.
    """

    name: str
    title: str
    run: Callable[[Workspace, Sequence[Any], Progress], Awaitable[CommandAnswer]]
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
                self._announcer.show_if_plain(text, Severity.INFO)
        return outcome.value

    async def _run(self, command: Command, task: "asyncio.Task[Any]", params: ExecuteCommandParams) -> CommandAnswer:
        async with self._board.show(command.title, task.cancel, params.work_done_token) as progress:
            workspace, given = self._workspace(), params.arguments or ()
            if command.takes_session and (not given or given[0] in (None, "")):
                given = (self._own.find(workspace), *given[1:])
            if command.takes_folders and not given:
                given = self._own.folders
            return await command.run(workspace, given, progress)


async def _compact(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
    session_id, focus = _text(arguments, 0), _text(arguments, 1)
    progress.report("Writing the summary")
    done = await context.compact(workspace, context.CompactParams(session_id=session_id, focus=focus))
    # No message: the compaction publishes a notice of its own.
    return CommandAnswer(value=done, session_id=session_id)


async def _preview(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandAnswer:
    session_id = _text(arguments, 0)
    params = context.CompactParams(session_id=session_id, focus=_text(arguments, 1), dry_run=True)
    seen = await context.compact(workspace, params)
    sizes = words.shrinking(seen.context_size_before, seen.context_size_after)
    return CommandAnswer(value=seen, session_id=session_id, message=f"{sizes}\n\n{seen.summary}")


async def _undo(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandAnswer:
    session_id = _text(arguments, 0)
    before = workspace.open(session_id).used
    done = await context.undo(workspace, context.UndoParams(session_id=session_id, edit_id=_text(arguments, 1) or None))
    return CommandAnswer(value=done, session_id=session_id, message=words.undone(before, done.usage.used))


async def _context(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandAnswer:
    session_id = _text(arguments, 0)
    usage = await context.get(workspace, SessionParams(session_id=session_id))
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    followed = (await agents.list_followed(workspace, agents.FollowingParams())).rows
    for row in followed:
        # The figure of a file's end is there before the whole file is read into its session.
        if row.session_id == session_id and row.used is not None and row.used_source is not None:
            line = words.context_line(row.used, row.window, row.used_source)
    return CommandAnswer(value=usage, session_id=session_id, message=line)


async def _sessions(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandAnswer:
    listed = await session.list_sessions(workspace, session.ListSessionsParams(cwd=_text(arguments, 0) or None))
    lines = [f"{entry.session_id}  {entry.title}" for entry in listed.sessions]
    return CommandAnswer(value=listed, message="\n".join(lines) or "No sessions yet.")


async def _import(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
    path = _text(arguments, 0)
    progress.report(f"Reading {path}")
    done = await session.import_session(workspace, session.ImportParams(path=path or None))
    usage = done.session.usage
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    what = f"Imported {done.messages:,} messages ({done.format})."
    if done.outcome is ImportOutcome.UNCHANGED:
        what = f"Nothing new: all {done.messages:,} messages ({done.format}) were imported before."
    return CommandAnswer(value=done, session_id=done.session.session_id, message=f"{what} {line}")


async def _follow(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandAnswer:
    folders = tuple(_text(arguments, place) for place in range(len(arguments)))
    progress.report("Reading the conversations of agents")
    done = await agents.start_following(workspace, agents.StartFollowingParams(folders=folders))
    # In a message of one line there is room for one conversation: the folder's, or else the last changed.
    own = [row for row in done.rows if any(is_in(row.cwd, folder) for folder in folders)]
    text = words.follows(len(done.rows))
    for row in (own or done.rows)[:1]:
        text = f"{text} {words.about(row.title, f'{row.agent}. {_row_line(row)}'.strip())}"
    return CommandAnswer(value=done, message=text)


def _row_line(row: agents.FollowedConversation) -> str:
    if row.used is None or row.used_source is None:
        return ""
    return words.context_line(row.used, row.window, row.used_source)


async def _unfollow(workspace: Workspace, _: Sequence[Any], __: Progress) -> CommandAnswer:
    done = await agents.stop_following(workspace, agents.FollowingParams())
    return CommandAnswer(value=done, message="The conversations of agents are not followed any more.")


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
    """Returns the text argument at `place`, "" if missing or null. Raises `InvalidRequest` if it is not text."""
    given: Any = arguments[place] if place < len(arguments) else None
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidRequest(f"argument {place + 1} must be text, not {type(given).__name__}")
    return given


PREFIX = "ullage/"


class WorkspaceHooks(Struct, frozen=True, kw_only=True):
    """Functions that the program gives the Language Server.

    - `open`: opens the workspace, on the store that the settings name. Called at the first use, after `initialize` is
      answered, and again if it failed.
    - `warm_up`: called in a thread after `initialized`, to load what the first request would otherwise wait for.
    - `configure`: called with the workspace and its settings once it is opened, and at every change of the settings.
    - `cancel_compaction`: called with the workspace and a session's id when the user cancels an automatic compaction.
    - `keep_private`: called with the client's name, its folders and each settings that it sends. Keeps what they call
      private for commands without an editor. Raises `StoreError` if it can't.
    """

    open: Callable[[Announcer, Settings], Workspace]
    warm_up: Callable[[], object]
    configure: Callable[[Workspace, Settings], object]
    cancel_compaction: Callable[[Workspace, str], object]
    keep_private: Callable[[str, Sequence[str], Settings], object] = lambda _, __, ___: None


class ProgressCancelParams(Struct, frozen=True):
    """The params of `window/workDoneProgress/cancel`."""

    token: int | str


class LspServer:
    """The Language Server of one client, with the workspace.

    It serves each method as `ullage/<name>`, and each command by `workspace/executeCommand`. `connection` takes the
    client's bytes and writes the server's. `max_body` is the size of the largest message that is accepted, in bytes.
    """

    def __init__(
        self,
        hooks: WorkspaceHooks,
        methods: Sequence[AnyMethod],
        commands: Sequence[Command],
        version: str,
        max_body: int = MAX_BODY,
    ) -> None:
        self._hooks = hooks
        self._methods = methods
        self._version = version
        self._opened: Workspace | None = None
        # The setting `store` when the workspace was opened.
        self._store = ""
        self.connection = LspConnection(max_body)
        self._pygls = Pygls("ullage", version, self.connection.converter)
        self._board = ProgressBoard(self.connection)
        self._announcer = Announcer(self.connection, self._board, self._cancel_compaction, self._title_of)
        self._own = OwnSession(lambda: self._announcer.client.folders)
        self._configuration = Configuration(self.connection, self._configure, self._announcer.warn, self._keep_private)
        self._commands = CommandRunner(commands, self.workspace, self._board, self._announcer, self._own)
        self._install()

    def workspace(self) -> Workspace:
        """Returns the workspace, which the first call opens with the client's settings. Raises `StoreError`."""
        if self._opened is None:
            settings = self._configuration.settings
            opened = self._opened = self._hooks.open(self._announcer, settings)
            self._announcer.on_desktop = lambda: shows(opened.settings.notices)
            self._store = settings.store
            if self._announcer.client.asks_permission:
                self._opened.permissions = ClientPermissions(self.connection.ask, PREFIX)
            if self._announcer.client.offers_models:
                self._opened.editor_models = ClientModels(self.connection.ask, PREFIX)
            self._opened.trusts_projects = self._announcer.client.trusts_folder
            self._hooks.configure(self._opened, settings)
        return self._opened

    def _install(self) -> None:
        connection = self.connection
        connection.add_methods(PREFIX, [self._noted(method) for method in self._methods], self.workspace)
        connection.add_standard_route(types.INITIALIZE, self._initialize)
        connection.add_standard_route(types.SET_TRACE, _ignore)
        connection.add_route(types.INITIALIZED, Any, self._initialized)
        connection.add_route(types.WORKSPACE_EXECUTE_COMMAND, ExecuteCommandParams, self._commands.execute)
        connection.add_route(
            types.WORKSPACE_DID_CHANGE_CONFIGURATION, DidChangeConfigurationParams, self._configuration.change
        )
        connection.add_route(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, ProgressCancelParams, self._cancel_progress)

    async def _initialize(self, params: types.InitializeParams) -> Reply:
        result = await self._pygls.initialize(params)
        capabilities = result["capabilities"]
        # No documents: otherwise the client would send their text, which Ullage doesn't use.
        capabilities["textDocumentSync"] = {"openClose": False}
        capabilities["executeCommandProvider"] = {"commands": self._commands.names, "workDoneProgress": True}
        capabilities["experimental"] = {
            "ullage": {
                "version": self._version,
                "methods": [PREFIX + method.name for method in self._methods],
                "updates": UPDATE_METHOD,
            }
        }
        client = read_client(params)
        self._announcer.client = client
        self._board.may_create = client.shows_progress
        if params.process_id is not None:
            self.connection.watch_process(params.process_id)
        return Reply(result, lambda: self._configuration.start(client))

    async def _initialized(self, params: Any) -> None:
        # No daemon: Python ends one in the midst of native code, which may abort the program. It takes half a second.
        threading.Thread(target=self._hooks.warm_up, name="warm-up").start()
        await self._configuration.subscribe(params)

    async def _cancel_progress(self, params: ProgressCancelParams) -> None:
        self._board.cancel(params.token)

    def _noted(self, method: AnyMethod) -> AnyMethod:
        async def handle(workspace: Workspace, params: Any) -> Any:
            result = await method.handler(workspace, params)
            opened = getattr(result, "session", result)
            self._own.named(getattr(opened, "session_id", None) or getattr(params, "session_id", None) or "")
            return result

        return replace(method, handler=handle)

    def _title_of(self, session_id: str) -> str:
        try:
            return self.workspace().ports.store.info(session_id).title
        except UllageError:
            return ""

    def _cancel_compaction(self, session_id: str) -> None:
        self._hooks.cancel_compaction(self.workspace(), session_id)

    def _keep_private(self, settings: Settings) -> None:
        client = self._announcer.client
        self._hooks.keep_private(client.name, client.folders, settings)

    def _configure(self, settings: Settings) -> None:
        if self._opened is not None:
            if settings.store != self._store:
                self._store = settings.store
                self._announcer.warn("The setting store is read when Ullage starts: restart it to change the store.")
            self._hooks.configure(self._opened, settings)


async def _ignore(_: Any) -> None:
    pass


_SET_TRACE = "$/setTrace"
_HEADER_END = b"\r\n\r\n"


class Traced(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"sender": "from"}):
    """One line of a trace: a message, its sender and its time.

    `timestamp` is Unix milliseconds. `message` is the message as a JSON value; at the trace level `messages` it has
    only the message's id and method. For bytes that are not JSON, `text` is set in place of `message`: to the bytes as
    text, or to the reason why no message begins there.
    """

    timestamp: int
    sender: Literal["client", "server"]
    message: Any = UNSET
    text: str = ""


class _Outline(Struct, frozen=True, omit_defaults=True):
    """The fields of a message that are written at the trace level `messages`."""

    id: Any = UNSET
    method: str | UnsetType = UNSET


class _SetTrace(Struct, frozen=True):
    value: str = ""


class _SetTraceMessage(Struct, frozen=True):
    method: str = ""
    params: Raw = Raw(b"{}")


class Trace:
    """Writes messages to a file, which it owns. The trace level is `verbose` until the client sets `messages` or `off`
    by `$/setTrace`. `now` returns Unix milliseconds."""

    def __init__(self, file: BinaryIO, now: Callable[[], int]) -> None:
        self._file = file
        self._now = now
        self._level = "verbose"
        self._frames = FrameParser()

    def receive(self, data: bytes) -> None:
        """Takes bytes from the client, however they are divided, and writes the messages that they complete to the
        trace. A message `$/setTrace` changes the trace level for the messages after it."""
        for item in self._frames.feed(data):
            if isinstance(item, BadFrame):
                self._write(Traced(timestamp=self._now(), sender="client", text=item.reason))
            else:
                self._take("client", item)
                self._level = _requested_level(item) or self._level

    def send(self, data: bytes) -> None:
        """Takes one message to the client, with its header, and writes its body to the trace."""
        self._take("server", data.partition(_HEADER_END)[2])

    def close(self) -> None:
        """Closes the file. Messages after that are not written."""
        self._file.close()

    def _take(self, sender: Literal["client", "server"], body: bytes | bytearray) -> None:
        if self._level == "off":
            return
        try:
            message = msgspec.json.decode(body, type=_Outline if self._level == "messages" else Any)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._write(Traced(timestamp=self._now(), sender=sender, text=body.decode(errors="replace")))
        else:
            self._write(Traced(timestamp=self._now(), sender=sender, message=message))

    def _write(self, line: Traced) -> None:
        if not self._file.closed:
            self._file.write(encode_json(line) + b"\n")


class TracedConnection:
    """A connection that writes its messages, in both directions, to a trace, and otherwise does what `inner` does."""

    def __init__(self, inner: Connection, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def stopped(self) -> "Future[int]":
        return self._inner.stopped

    def connect(self, writer: Writer) -> None:
        """Sets the writer that takes messages to the client. Each message is written to the trace, too."""
        self._inner.connect(_TracedWriter(writer, self._trace))

    def feed(self, data: bytes) -> None:
        """Takes the next bytes from the client: writes them to the trace and hands them to the connection."""
        self._trace.receive(data)
        self._inner.feed(data)

    def end(self) -> None:
        self._inner.end()

    def stop(self, status: int) -> None:
        self._inner.stop(status)

    async def drain(self, seconds: float) -> None:
        await self._inner.drain(seconds)


class _TracedWriter:
    def __init__(self, inner: Writer, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def has_room(self) -> bool:
        return self._inner.has_room

    def write(self, data: bytes) -> None:
        self._trace.send(data)
        self._inner.write(data)

    async def drain(self) -> None:
        await self._inner.drain()


def open_trace(path: Path, now: Callable[[], int]) -> Trace:
    """Opens a file, to which the trace is appended, and returns the trace. `now` returns Unix milliseconds.

    Creates the file, readable by its owner alone, and its folder. Raises `InvalidRequest` if that fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise InvalidRequest(f"cannot write the trace {path}: {error.strerror}; choose another file") from error
    # Unbuffered, so that everything is in the file even if the server is killed.
    return Trace(os.fdopen(descriptor, "ab", buffering=0), now)


def _requested_level(body: bytes | bytearray) -> str | None:
    """Returns the trace level that the message sets if it is a `$/setTrace`, or None for every other message."""
    if _SET_TRACE.encode() not in body:
        return None
    try:
        message = msgspec.json.decode(body, type=_SetTraceMessage)
        return msgspec.json.decode(message.params, type=_SetTrace).value if message.method == _SET_TRACE else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
