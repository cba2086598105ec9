"""The conversations of the folder in which the user is (those in agents' own files, and stored sessions), their table,
which `ullage` and `ullage watch` share, and their short ids; and what opens the conversation that a command reads: a
stored session, or a transcript (a file or standard input), which is imported into a temporary store."""

import sys
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace
from rich.text import Text

from ullage.agents import transcripts
from ullage.agents.discovery import Found, UnreadFile, Wanted
from ullage.app.catalogue import (
    BegunCompactions,
    KnownConversations,
    StoredCopies,
    belongs,
    changed_at,
    families,
    running_agents,
)
from ullage.app.compose import open_workspace, reading_settings, throwaway_workspace
from ullage.bounds import LARGEST_TRANSCRIPT, read_most
from ullage.cli.arguments import ReadingOptions
from ullage.cli.drawing import Cell, Column, Glyphs, Screen, ago, bar, clock, fit_most, plural, table
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.model.errors import InputError, SessionNotFound, UllageError
from ullage.model.events import ConversationImported, ModelChanged, first_messages
from ullage.model.usage import FollowedRow, Nearness, RateLimit, UsageSource
from ullage.model.words import rate_limits, short, warm
from ullage.service.archive.naming import find_session, list_main
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import kept_by_agent
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.rows import is_compacting, is_recent, row_of
from ullage.service.ports.store import SessionInfo, SessionStore
from ullage.service.sessions import copied_session, import_transcript, import_without_reports
from ullage.store.sqlite.catalogue import KnownConversation, SqliteTold
from ullage.store.store_place import StorePlace, is_there, local_path
from ullage.system.growing_files import parse_transcript, read_transcript_file


class ConversationRow(FollowedRow, frozen=True, kw_only=True):
    """A conversation of a folder: one in an agent's own file, `path`, or a stored session without such a file.

    `session_id` is the id of the stored session that has all of it (`stored`), or else the agent's own id of the
    conversation; all commands that read take either. `run` is the conversation's number in a file that holds several.
    `messages` is null for a file of which only the end was read, and so is `calls_left` if few calls are in that. The
    figures are null for one that can't be read, for the `reason`, or that has no message yet.
    """

    stored: bool
    reason: str = ""
    run: int | None = None


R = TypeVar("R", bound=FollowedRow)
# Stored sessions without an agent's file that are opened for their figures, the newest.
_STORED = 100


class Here(Struct, frozen=True, kw_only=True):
    """A folder, how many conversations it has, and those that are shown: what runs now first, then the fullest first.
    `elsewhere` are the first of `elsewhere_count` that run now in other folders or, if there are none and the folder
    has none, of all of the machine. `unread` are files that could not be read, `left` is the number of conversations
    that are not read yet, and `forgotten` that of those on the machine that the user had Ullage forget."""

    folder: Path
    count: int
    rows: Sequence[ConversationRow]
    elsewhere_count: int
    elsewhere: Sequence[ConversationRow]
    unread: tuple[UnreadFile, ...]
    left: int
    forgotten: int


class ThisFolder:
    """Looks for the conversations of a folder (by default the working folder), or of its nearest parent that has any:
    in a folder of a project, the project's. No more conversations are read after `seconds`."""

    def __init__(
        self, workspace: Workspace, store: StorePlace | None, folder: Path | None = None, seconds: float = inf
    ) -> None:
        self._workspace = workspace
        self._known = KnownConversations(workspace, store, seconds=seconds)
        folder = (folder or Path.cwd()).resolve()
        places = (place for place in (folder, *folder.parents) if self._has(place, inside=place == folder))
        self.folder = next(places, folder)
        self._processes = running_agents()
        self._begun = BegunCompactions(local_path(store))()
        self._copies = StoredCopies(workspace)
        # Conversations that are not listed, by the place of the one that is.
        self._forks: dict[str, tuple[str, ...]] = {}

    def newest(self) -> SessionInfo | Found:
        """Returns the conversation that changed last. Raises `InputError` if there is none."""
        stored = list_main(self._workspace.ports.store, str(self.folder), 1)
        found = [one for one in self._known.found if self._is_here(one)]
        if not stored and not found:
            forgotten = forgotten_words(self._known.forgotten)
            raise InputError(
                f"no conversation of {self.folder} was found{f' ({forgotten})' if forgotten else ''}; name one by its "
                "id or its file (`ullage --stored` lists those that Ullage keeps)"
            )
        one = max(found, key=changed_at, default=None)
        if one is None or (stored and stored[0].updated_at >= changed_at(one)):
            return stored[0]
        return self._known.found_of(one)

    def look(self, limit: int | None) -> Here:
        """Returns the conversations with their figures, each of the two lists at most `limit` of them (None: all, and
        forks by themselves)."""
        here = [one for one in self._known.found if self._is_here(one)]
        own = {one.place for one in here}
        here = here if limit is None else self._with_forks(here)
        others = [one for one in self._known.found if one.place not in own and self._runs(one)[1]]
        stored = self._stored_rows(str(self.folder))
        listed = not here and not others and not stored
        elsewhere = (
            others if not listed else [*self._known.found] if limit is None else self._with_forks(self._known.found)
        )
        stored_elsewhere = self._stored_rows(None) if listed else []
        return Here(
            folder=self.folder,
            count=len(here) + len(stored),
            rows=self._shown(here, stored, limit),
            elsewhere_count=len(elsewhere) + len(stored_elsewhere),
            elsewhere=self._shown(elsewhere, stored_elsewhere, limit),
            unread=self._known.unread,
            left=self._known.left,
            forgotten=self._known.forgotten,
        )

    def _with_forks(self, found: Sequence[KnownConversation]) -> list[KnownConversation]:
        """Returns of conversations with the same beginning those that run, or the last changed one."""
        shown: list[KnownConversation] = []
        for family in families(found):
            own = [one for one in family if self._runs(one)[1]] or family[:1]
            self._forks[own[0].place] = tuple(one.agent_session_id for one in family if one not in own)
            shown += own
        return shown

    def _has(self, place: Path, *, inside: bool) -> bool:
        """Returns whether there is a conversation in a folder, or in one of its own if `inside`."""
        name = str(place)
        if any(belongs(one, name) if inside else one.cwd == name for one in self._known.found):
            return True
        return bool(list_main(self._workspace.ports.store, name, 1))

    def _is_here(self, one: KnownConversation) -> bool:
        return belongs(one, str(self.folder))

    def _runs(self, one: FollowedRow) -> tuple[int | None, bool]:
        """Returns the process that has a conversation, None if it is not known, and whether the conversation runs."""
        key = one.agent, one.agent_session_id
        process_id = self._processes.get(key)
        recent = key not in self._processes and is_recent(one.updated_at, self._workspace.ports.clock.now())
        return process_id, process_id is not None or recent

    def _shown(
        self, known: Sequence[KnownConversation], stored: Sequence[ConversationRow], limit: int | None
    ) -> list[ConversationRow]:
        """Returns the first rows. What is not sure of them is read first."""
        first = running_first([*known, *stored], lambda one: self._runs(one)[1])[:limit]
        listed = [one for one in first if isinstance(one, KnownConversation)]
        closer = self._known.read_closer(listed, lambda one: self._runs(one)[1])
        rows = [self._row(one) for one in closer]
        rows += [one for one in first if isinstance(one, ConversationRow)]
        return running_first(rows, lambda row: row.live)

    def _row(self, one: KnownConversation) -> ConversationRow:
        process_id, live = self._runs(one)
        session_id = self._copies.of(one)
        began, now = self._begun.get(one.agent_session_id, 0), self._workspace.ports.clock.now()
        # Any line may be the one that ends it.
        compacts = live and is_compacting(began, changed_at(one), now)
        fields: dict[str, Any] = {name: getattr(one, name) for name in FollowedRow.__struct_fields__}
        fields |= {
            "nearness": Nearness.COMPACTING if compacts else one.nearness,
            "session_id": session_id or one.agent_session_id,
            "process_id": process_id,
            "live": live,
            "forks": self._forks.get(one.place, ()),
        }
        return ConversationRow(**fields, stored=session_id is not None, run=one.run, reason=one.reason)

    def _stored_rows(self, folder: str | None) -> list[ConversationRow]:
        """Returns the stored sessions of a folder that no agent's file has."""
        known = {(one.format, one.agent_session_id) for one in self._known.found}
        theirs = {session_id for key, session_id in self._copies.all if key in known}
        infos = list_main(self._workspace.ports.store, folder, _STORED)
        opened = open_listed(self._workspace, (info for info in infos if info.session_id not in theirs))
        return [_stored_row(info, conversation) for info, conversation in opened]


def open_listed(workspace: Workspace, infos: Iterable[SessionInfo]) -> Iterator[tuple[SessionInfo, Conversation]]:
    """Opens sessions that were listed, without those that another process has deleted since."""
    for info in infos:
        with suppress(SessionNotFound):
            yield info, workspace.open(info.session_id)


def forgotten_words(count: int) -> str:
    """Returns what became of the conversations that the user had Ullage forget; "" if there are none."""
    if not count:
        return ""
    were, whose = ("was", "its agent goes") if count == 1 else ("were", "the agent of one goes")
    what = f"{plural(count, 'conversation')} on this machine {were} forgotten"
    return f"{what}; if {whose} on with it, all of it comes back, from message 1"


def folder_called(name: str) -> str:
    """Returns the absolute path of the folder that `--cwd` names. Raises `InputError` if there is no such folder."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise InputError(f"--cwd {name}: there is no such folder")
    return str(folder.resolve())


def running_first(rows: Iterable[R], runs: Callable[[R], bool]) -> list[R]:
    """Returns the rows the fullest first, running ones before others; those of unknown fullness last."""

    def key(row: R) -> tuple[bool, bool, int, int, int]:
        return not runs(row), row.percent is None, -(row.percent or 0), -(row.used or 0), -row.updated_at

    return sorted(rows, key=key)


def _stored_row(info: SessionInfo, conversation: Conversation) -> ConversationRow:
    row = row_of(conversation)
    return ConversationRow(**asdict(replace(row, updated_at=row.updated_at or info.updated_at)), stored=True)


# Columns from which ids are shown whole.
_ROOMY = 160
# The shortest beginning of an id that is shown. A time of an hour is in it.
_SHORTEST = 8
# More sessions than a store has. All ids are read.
_ALL_IDS = 1_000_000


class Shortened:
    """Shortens ids for display: called with one of them, it returns the whole id on a wide screen, otherwise its
    beginning that no other has, of at least 8 characters."""

    def __init__(self, ids: Iterable[str], width: int) -> None:
        # In alphabetical order only neighbours can be alike.
        self._ids = sorted({*ids})
        self._is_whole = width >= _ROOMY

    def __call__(self, name: str) -> str:
        if self._is_whole:
            return name
        place = bisect_left(self._ids, name)
        others = (*self._ids[max(0, place - 1) : place], *self._ids[place + 1 : place + 2])
        return name[: max([_SHORTEST, *(_shared(name, other) + 1 for other in others)])]


class ShortIds:
    """Shortens the ids of sessions for display. A session that was read from an agent's conversation is shown by the
    agent's own id, as before it was read: a conversation has one name."""

    def __init__(self, store: SessionStore, screen: Screen, more: Iterable[str] = ()) -> None:
        """`more` are ids that are shown and not of the store."""
        # The last created first.
        newest = {one.origin_id: one.session_id for one in reversed(store.imported()) if one.origin_id}
        self._own = {session_id: origin for origin, session_id in newest.items()}
        ids = (self._own.get(one, one) for one in (*store.find_ids("", _ALL_IDS), *more))
        self._short = Shortened(ids, screen.room)

    def __call__(self, session_id: str) -> str:
        return self._short(self._own.get(session_id, session_id))


def _shared(one: str, other: str) -> int:
    """Returns the number of characters at the beginning that both texts have in common."""
    alike = (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(alike, min(len(one), len(other)))


_BAR_CELLS = 12
# Columns of a terminal from which on words are whole.
_WORDY = 110
_COLUMNS = (
    Column(name="Full", right=True),
    Column(name="", rank=5, style="dim"),
    Column(name="Tokens", rank=4, right=True),
    Column(name="Compacts", rank=3, style="dim"),
    Column(name="Title", flexible=True),
    Column(name="Agent", rank=1, style="dim"),
    Column(name="Model", rank=7, style="dim"),
    Column(name="Cache", rank=6, style="dim"),
    Column(name="Messages", rank=8, right=True, style="dim"),
    Column(name="When", rank=2, style="dim"),
    Column(name="Id", style="bold"),
)


def conversation_table(
    rows: Sequence[tuple[FollowedRow, str]], now: int, width: int, glyphs: Glyphs, folder: str | None = None
) -> list[Text]:
    """Returns a heading and one line per row. Each row is given with what its conversation is called, and `now` is Unix
    milliseconds. A conversation of another folder than `folder` has its own before the title."""
    is_short = width < _WORDY
    cells = [
        _cells(row, (name, _title(row, folder, glyphs, is_short=is_short)), now, glyphs, is_short=is_short)
        for row, name in rows
    ]
    return table(_COLUMNS, cells, width, glyphs)


# Cells of another folder's name before a title, and where there is little room for both.
_PLACE, _SHORT_PLACE = 24, 12


def _title(row: FollowedRow, folder: str | None, glyphs: Glyphs, *, is_short: bool) -> str:
    title = row.title or "(no message that can be read)"
    place = folder_of(row) if row.cwd != folder else ""
    return f"{fit_most(place, _SHORT_PLACE if is_short else _PLACE, glyphs)}: {title}" if place else title


def is_due_soon(row: FollowedRow) -> bool:
    """Returns whether a compaction is near: by the calls that are left if they are known, else by the figure."""
    return row.nearness is Nearness.IMMINENT if row.nearness else _is_due(row)


def _is_due(row: FollowedRow) -> bool:
    return row.used is not None and row.compacts_at is not None and row.used >= row.compacts_at


def calls(row: FollowedRow) -> str:
    """Returns in how many calls of the model a context is compacted: `9+ calls`; "" if that is not known."""
    if row.calls_left is None or not row.live:
        return ""
    low, high = row.calls_left
    count = str(low) if low == high else f"{low}+" if low else f"0-{high}"
    return f"{count} {'call' if high == 1 else 'calls'}"


def unread_lines(files: Iterable[UnreadFile], screen: Screen) -> Iterator[str]:
    """Yields the lines that say which files could not be read, and why. Most reasons name the file."""
    for file in files:
        why = file.reason if file.reason.startswith(file.path) else f"{file.path} ({file.reason})"
        yield from screen.prose(f"Not read: {why}")


def folder_of(row: FollowedRow) -> str:
    """Returns the last component of the folder in which a conversation began."""
    return row.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]


def limits_of(rows: Iterable[FollowedRow], now: int) -> str:
    """Returns what each agent said last of each limit of the user's subscription: `Claude Code 5h 42%, 7d 80%`; "" if
    none has said anything of the present times. `now` is Unix milliseconds."""
    said: dict[str, dict[str, RateLimit]] = {}
    for row in sorted(rows, key=lambda row: row.updated_at):
        said.setdefault(row.agent, {}).update({one.name: one for one in row.rate_limits if rate_limits((one,), now)})
    shown = ((agent, rate_limits([*limits.values()], now)) for agent, limits in sorted(said.items()))
    return "; ".join(f"{agent} {limits}" for agent, limits in shown if limits)


def _cells(row: FollowedRow, called: tuple[str, str], now: int, glyphs: Glyphs, *, is_short: bool) -> Sequence[Cell]:
    """Returns a row's cells, one for each of `_COLUMNS`. `called` are the name and the title."""
    about = glyphs.about if row.used_source is UsageSource.ESTIMATED else ""
    soon = is_due_soon(row)
    style = "" if not soon else "bold red" if _is_due(row) else "bold yellow"
    full = f"{glyphs.warning} " * soon + ("?" if row.percent is None else f"{about}{row.percent}%")
    name, title = called
    return (
        (full, style),
        bar(row.used or 0, row.window, row.compacts_at, _BAR_CELLS, glyphs) if row.window else "",
        f"{'?' if row.used is None else short(row.used)}/{short(row.window) if row.window else '?'}",
        _compacts(row, now, glyphs, is_short=is_short),
        title,
        row.agent_short or row.agent if is_short else row.agent,
        row.model,
        warm(row.cache, now) if row.cache and (row.live or now < row.cache.until) else "",
        "" if row.messages is None else f"{row.messages:,}",
        ("now", "bold green") if row.live else ago(row.updated_at, now, is_short=is_short),
        name,
    )


def _compacts(row: FollowedRow, now: int, glyphs: Glyphs, *, is_short: bool) -> str:
    """Returns where the context is compacted, and in how many calls, or when if that is because it idles."""
    if row.nearness is Nearness.COMPACTING:
        return f"compacting{glyphs.ellipsis}"
    if row.live and row.idle and row.idle.at > now:
        return f"at {clock(row.idle.at)}" if is_short else f"idle: at {clock(row.idle.at)}"
    if row.compacts_at is None:
        return ""
    left = "" if is_short else calls(row)
    return f"{short(row.compacts_at)}, {left}" if left else short(row.compacts_at)


STDIN = "-"
# Conversations that an error lists.
_CANDIDATES = 5


class Source(Struct, frozen=True, kw_only=True):
    """The session that a command reads, opened.

    - `is_copy`: the session is in a temporary store, so no change to it is kept.
    - `name`: the file's path, or the stored session's id.
    - `chosen`: the user named no session, so the newest one of the folder was chosen.
    - `unread`: the lines of the file that could not be read.
    - `hidden`: the tokens that the agent adds to every request and that the session's figures leave out.
    """

    workspace: Workspace
    conversation: Conversation
    is_copy: bool
    name: str
    chosen: bool = False
    unread: tuple[SkippedLine, ...] = ()
    hidden: int = 0


class ReadSource(Struct, frozen=True, kw_only=True):
    """A conversation that was read and is in no store, with facts as in `Source`."""

    transcript: ImportedTranscript
    name: str
    chosen: bool = False
    unread: tuple[SkippedLine, ...] = ()


@asynccontextmanager
async def open_source(
    options: ReadingOptions, *, reports: bool = True, writing: bool = False
) -> AsyncGenerator[Source]:
    """Opens the file or session that the arguments name, or else the newest conversation of this folder, a stored
    session or one in an agent's own file (`chosen` is true then).

    A name that no session has may be the beginning of an agent's own id of a conversation in its files.

    Raises `InputError` if there is none. If `reports` is false, a copy is counted without the tokens that the agent
    adds to every request; `hidden` then has their number. `writing` means that a stored session may be changed.
    """
    with _stored_or_read(options, copied=not options.as_stored, writing=writing) as source:
        if isinstance(source, Source):
            yield source
            return
        read = source
    with throwaway_copy(read.transcript, options) as workspace:
        if reports:
            conversation, hidden = await import_transcript(workspace, read.transcript, ""), 0
        else:
            conversation, hidden = await import_without_reports(workspace, read.transcript)
        yield Source(
            workspace=workspace,
            conversation=conversation,
            is_copy=True,
            name=read.name,
            chosen=read.chosen,
            unread=read.unread,
            hidden=hidden,
        )


def read_source(options: ReadingOptions) -> ReadSource:
    """Reads what `open_source` would open, a stored session too. Raises `InputError` if there is none."""
    with _stored_or_read(options, copied=True) as source:
        assert isinstance(source, ReadSource)
        return source


@contextmanager
def throwaway_copy(transcript: ImportedTranscript, options: ReadingOptions) -> Generator[Workspace]:
    """Opens a workspace for the block, on a temporary store, to import a transcript into. It has the window that the
    arguments name, and knows what the user's store has learned of the transcript's agent."""
    with throwaway_workspace(reading_settings(transcript.model, options.window)) as workspace:
        _teach(workspace, transcript, options.store)
        with closing(SqliteTold(local_path(options.store))) as told:
            workspace.rate_limits, workspace.told_window = told.rate_limits, told
            yield workspace


@contextmanager
def _stored_or_read(options: ReadingOptions, *, copied: bool, writing: bool = False) -> Generator[Source | ReadSource]:
    """Opens the stored session that is meant for the block, or reads the file that is meant. With `copied`, a stored
    session is read, too. So is one that an agent keeps and that is to be written, if the user has not named it."""
    name, run, origin_id, chosen = options.target or "", options.run, "", options.target is None
    transcript: ImportedTranscript | None = None
    unread: tuple[SkippedLine, ...] = ()
    if chosen or not (name == STDIN or Path(name).expanduser().exists()):
        with open_workspace(options.store, to_read=not writing) as workspace:
            known = _session_or_file(workspace, options.target, options.store)
            if isinstance(known, Found):
                name, origin_id = known.path, "" if run else known.origin_id
            else:
                conversation, name = workspace.open(known), known
                # The newest conversation may be in the store already or only in its agent's file: either is copied.
                if not copied and not (writing and chosen and kept_by_agent(conversation)):
                    yield Source(
                        workspace=workspace, conversation=conversation, is_copy=False, name=name, chosen=chosen
                    )
                    return
                transcript = copied_session(conversation, workspace.ports.store.read(conversation.id))
    if transcript is None:
        transcript = read_transcript(name, options.format, run, origin_id)
        unread = tuple(line for line in transcript.skipped if not line.expected)
    events = transcript.events
    if options.at is not None:
        events = tuple(first_messages(events, options.at))
    if options.model is not None:
        events = tuple(event for event in events if not isinstance(event, ModelChanged))
    yield ReadSource(
        transcript=replace(transcript, events=events, model=options.model or transcript.model),
        name=name,
        chosen=chosen,
        unread=unread,
    )


def _teach(workspace: Workspace, transcript: ImportedTranscript, store: StorePlace | None) -> None:
    """Gives a temporary workspace what the user's store has learned about where the transcript's agent compacts, so
    that the threshold is the one that other programs show. If there is no store, or it can't be read, does nothing."""
    if not is_there(store):
        return
    origins = {event.format for event in transcript.events if isinstance(event, ConversationImported)}
    with suppress(UllageError), open_workspace(store, to_read=True) as stored:
        for origin in origins:
            workspace.keep_compactions(origin, stored.compactions(origin))


def read_transcript(name: str, format_name: str | None, run: int | None, origin_id: str = "") -> ImportedTranscript:
    """Reads a transcript from a file or folder, or from standard input if `name` is `-`.

    `format_name` is the name of the transcript's format, or None to detect it. `run` is the number, counted from 1, of
    a conversation in a file with several, and `origin_id` its agent's id of one in a database; without both, the
    format's reader chooses one. Raises `InputError`.
    """
    path = Path(name).expanduser()
    shown = "standard input" if name == STDIN else str(path)
    try:
        if name == STDIN:
            document = parse_transcript(read_most(sys.stdin.buffer, LARGEST_TRANSCRIPT), shown, run)
        elif path.is_fifo():
            # A user who names a pipe, such as a shell's `<(…)`, waits for what is written to it.
            with path.open("rb") as pipe:
                document = parse_transcript(read_most(pipe, LARGEST_TRANSCRIPT, path), name, run)
        else:
            document = read_transcript_file(path, run, origin_id)
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror or error}") from error
    return transcripts.read_document(document, format_name)


def _session_or_file(workspace: Workspace, name: str | None, store: StorePlace | None) -> str | Found:
    """Returns the id of the stored session that `name` means, or a conversation in an agent's own file whose id begins
    so; without a name the newest conversation of this folder. Raises `InputError` if there is none, or several."""
    if name is None:
        newest = ThisFolder(workspace, store).newest()
        return newest if isinstance(newest, Found) else newest.session_id
    try:
        return find_session(workspace.ports.store, name, by_agents=False)
    except SessionNotFound as error:
        wanted = Wanted(limit=_CANDIDATES, folder=str(Path.cwd()), origin=name)
        found = workspace.ports.transcripts(wanted).conversations if name else ()
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"{one.origin_id} ({one.agent}: {one.title})" for one in found)
            raise InputError(f"{name!r} begins several conversations of agents: {listed}; type more") from error
        try:
            # Its agent has deleted it since.
            return find_session(workspace.ports.store, name)
        except SessionNotFound:
            raise InputError(f"{name}: there is no such file, and {error}") from error


# The most unread lines that are listed: enough to see what they are.
_SHOWN = 5


def unread_words(unread: Sequence[SkippedLine], screen: Screen) -> Iterator[str]:
    """Yields how many lines were not read, and the first five with the reasons; nothing if all were read."""
    if not unread:
        return
    yield f"{plural(len(unread), 'line')} not read:"
    for line in unread[:_SHOWN]:
        yield from screen.prose(f"  line {line.line}: {line.reason}")
    if len(unread) > _SHOWN:
        yield f"  and {len(unread) - _SHOWN:,} more"


def chosen_words(source: Source, screen: Screen) -> Iterator[Text]:
    """Yields one line with the id and title of the conversation that was chosen, or nothing if the user named one."""
    if source.chosen:
        name = ShortIds(source.workspace.ports.store, screen)(source.conversation.id)
        title = fit_most(source.conversation.transcript.title, max(1, screen.room - len(name) - 2), screen.glyphs)
        yield Text.assemble((name, "bold"), "  ", title)
