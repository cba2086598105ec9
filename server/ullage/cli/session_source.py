"""Opens the conversation that a command reads: a stored session, or a transcript (a file or standard input), which is
imported into a temporary store."""

import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from ullage.agents import transcripts
from ullage.agents.discovery import Found, Wanted
from ullage.app.compose import open_workspace, reading_settings, throwaway_workspace
from ullage.bounds import LARGEST_TRANSCRIPT, read_most
from ullage.cli.arguments import ReadingOptions
from ullage.cli.drawing import Screen, fit_most, plural
from ullage.cli.this_folder import ShortIds, ThisFolder
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.model.errors import InputError, SessionNotFound, UllageError
from ullage.model.events import ConversationImported, ModelChanged, first_messages
from ullage.service.archive.naming import find_session
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import kept_by_agent
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import copied_session, import_transcript, import_without_reports
from ullage.store.sqlite.catalogue import SqliteTold
from ullage.store.store_place import StorePlace, is_there, local_path
from ullage.system.transcript_files import parse_transcript, read_transcript_file

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
            workspace.rate_limits = told.rate_limits
            yield workspace


@contextmanager
def _stored_or_read(options: ReadingOptions, *, copied: bool, writing: bool = False) -> Generator[Source | ReadSource]:
    """Opens the stored session that is meant for the block, or reads the file that is meant. With `copied`, a stored
    session is read, too. So is one that an agent keeps and that is to be written, if the user has not named it."""
    name, run, chosen = options.target or "", options.run, options.target is None
    transcript: ImportedTranscript | None = None
    unread: tuple[SkippedLine, ...] = ()
    if chosen or not (name == STDIN or Path(name).expanduser().exists()):
        with open_workspace(options.store, to_read=not writing) as workspace:
            known = _session_or_file(workspace, options.target, options.store)
            if isinstance(known, Found):
                name, run = known.path, run or known.run
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
        transcript = read_transcript(name, options.format, run)
        unread = tuple(line for line in transcript.skipped if not line.expected)
    yield ReadSource(transcript=_as_asked(transcript, options), name=name, chosen=chosen, unread=unread)


def _teach(workspace: Workspace, transcript: ImportedTranscript, store: StorePlace | None) -> None:
    """Gives a temporary workspace what the user's store has learned about where the transcript's agent compacts, so
    that the threshold is the one that other programs show. If there is no store, or it can't be read, does nothing."""
    if not is_there(store):
        return
    origins = {event.format for event in transcript.events if isinstance(event, ConversationImported)}
    with suppress(UllageError), open_workspace(store, to_read=True) as stored:
        for origin in origins:
            workspace.keep_compactions(origin, stored.compactions(origin))


def _standard_input() -> bytes:
    try:
        return read_most(sys.stdin.buffer, LARGEST_TRANSCRIPT)
    except OSError as error:
        raise InputError(f"cannot read standard input: {error.strerror or error}") from error


def _pipe_input(path: Path) -> bytes:
    try:
        with path.open("rb") as pipe:
            return read_most(pipe, LARGEST_TRANSCRIPT, path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def read_transcript(name: str, format_name: str | None, run: int | None) -> ImportedTranscript:
    """Reads a transcript from a file or folder, or from standard input if `name` is `-`.

    `format_name` is the name of the transcript's format, or None to detect it. `run` is the number, counted from 1, of
    a conversation in a file with several; if it is None, the format's reader chooses one. Raises `InputError`.
    """
    path = Path(name).expanduser()
    if name == STDIN:
        document = parse_transcript(_standard_input(), "standard input", run)
    elif path.is_fifo():
        # A user who names a pipe, such as a shell's `<(…)`, waits for what is written to it.
        document = parse_transcript(_pipe_input(path), name, run)
    else:
        document = read_transcript_file(path, run)
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


def _as_asked(transcript: ImportedTranscript, options: ReadingOptions) -> ImportedTranscript:
    events = transcript.events
    if options.at is not None:
        events = tuple(first_messages(events, options.at))
    if options.model is not None:
        events = tuple(event for event in events if not isinstance(event, ModelChanged))
    return replace(transcript, events=events, model=options.model or transcript.model)


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
