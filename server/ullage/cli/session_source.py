"""Opens the conversation that a command reads: a stored session, or a transcript (a file or standard input), which is
imported into a temporary store."""

import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents import transcripts
from ullage.agents.discovery import Found, Wanted
from ullage.app.compose import open_workspace
from ullage.cli.this_folder import find_newest
from ullage.cli.typed_arguments import ReadingOptions
from ullage.formats.transcripts.imported import ImportedTranscript, SkippedLine
from ullage.model.errors import InputError, SessionNotFound, UllageError
from ullage.model.events import (
    ContextEdited,
    ConversationImported,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    UsageReported,
)
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.service.archive.naming import find_session
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import import_transcript
from ullage.store.database import default_path
from ullage.system.single_files import parse_transcript
from ullage.system.transcript_files import read_transcript_file

STDIN = "-"
# Conversations that an error lists.
_CANDIDATES = 5


# Returns the events that are read, of all events of a conversation.
Cut = Callable[[Sequence[Event]], Iterable[Event]]


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


@asynccontextmanager
async def open_source(
    options: ReadingOptions, *, reports: bool = True, writing: bool = False, cut: Cut | None = None
) -> AsyncGenerator[Source]:
    """Opens the file or session that the arguments name, or else the newest conversation of this folder, a stored
    session or one in an agent's own file (`chosen` is true then).

    A name that no session has may be the beginning of an agent's own id of a conversation in its files.

    Raises `InputError` if there is none. If `reports` is false, a copy is counted without the tokens that the agent
    adds to every request; `hidden` then has their number. `writing` means that a stored session may be changed. `cut`
    returns the events that are read; with it, a stored session is copied, too.
    """
    unread: tuple[SkippedLine, ...] = ()
    name, run, chosen = options.target or "", options.run, options.target is None
    transcript: ImportedTranscript | None = None
    if chosen or not _is_file(name):
        with open_workspace(options.store, to_read=not writing) as workspace:
            known = _known(workspace, options.target)
            if isinstance(known, Found):
                name, run = known.path, run or known.run
            else:
                conversation, name = workspace.open(known), known
                if options.as_stored and cut is None:
                    yield Source(
                        workspace=workspace, conversation=conversation, is_copy=False, name=name, chosen=chosen
                    )
                    return
                transcript = _copied(conversation, workspace.ports.store.read(conversation.id))
    if transcript is None:
        transcript = read_transcript(name, options.format, run)
        unread = tuple(line for line in transcript.skipped if not line.expected)
    transcript = _as_asked(transcript, options, cut)
    with throwaway_workspace(reading_settings(transcript.model, options.window)) as workspace:
        _teach(workspace, transcript, options.store)
        conversation, hidden = await import_transcript(workspace, transcript, ""), 0
        if not reports:
            whole = conversation.used
            conversation = _without_reports(workspace, conversation)
            hidden = max(0, whole - conversation.used)
        yield Source(
            workspace=workspace,
            conversation=conversation,
            is_copy=True,
            name=name,
            chosen=chosen,
            unread=unread,
            hidden=hidden,
        )


def _teach(workspace: Workspace, transcript: ImportedTranscript, store: Path | None) -> None:
    """Gives a temporary workspace what the user's store has learned about where the transcript's agent compacts, so
    that the threshold is the one that other programs show. If there is no store, or it can't be read, does nothing."""
    if not (store or default_path()).exists():
        return
    origins = {event.format for event in transcript.events if isinstance(event, ConversationImported)}
    with suppress(UllageError), open_workspace(store, to_read=True) as stored:
        for origin in origins:
            workspace.keep_compactions(origin, stored.compactions(origin))


def read_transcript(name: str, format_name: str | None, run: int | None) -> ImportedTranscript:
    """Reads a transcript from a file or folder, or from standard input if `name` is `-`.

    `format_name` is the name of the transcript's format, or None to detect it. `run` is the number, counted from 1, of
    a conversation in a file with several; if it is None, the format's reader chooses one. Raises `InputError`.
    """
    if name == STDIN:
        document = parse_transcript(sys.stdin.buffer.read(), "standard input", run)
    else:
        document = read_transcript_file(Path(name).expanduser(), run)
    return transcripts.read_document(document, format_name)


@contextmanager
def throwaway_workspace(settings: Settings) -> Generator[Workspace]:
    """Opens a workspace for the block, on a temporary store, which is deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_workspace(Path(folder) / "sessions.db", settings) as workspace,
    ):
        yield workspace


def reading_settings(model: str, window: int | None) -> Settings:
    """Returns settings for a workspace that only reads a transcript of the model `model`. `window` replaces the model's
    window, in tokens.

    Nothing is compacted automatically, no file but the transcript is read, and no model writes summaries.
    """
    models = {model: ModelSettings(window=window)} if window else {}
    context = ContextSettings(enabled=False, bring_back="off")
    return Settings(model=model, models=models, context=context, summary=SummarySettings(writer="offline"))


def first_messages(events: Sequence[Event], count: int) -> Iterator[Event]:
    """Yields the events up to the `count`th message and the usage of that message, so that they are the conversation as
    it was then."""
    for event in events:
        if isinstance(event, MessageAppended):
            count -= 1
        if count < 0 or (count == 0 and isinstance(event, ContextEdited)):
            return
        yield event


def _is_file(name: str) -> bool:
    return name == STDIN or Path(name).expanduser().exists()


def _known(workspace: Workspace, name: str | None) -> str | Found:
    """Returns the id of the stored session that `name` means, or a conversation in an agent's own file whose id begins
    so; without a name the newest conversation of this folder. Raises `InputError` if there is none, or several."""
    if name is None:
        newest = find_newest(workspace)
        return newest if isinstance(newest, Found) else newest.session_id
    try:
        return find_session(workspace.ports.store, name)
    except SessionNotFound as error:
        wanted = Wanted(limit=_CANDIDATES, folder=str(Path.cwd()), origin=name)
        found = workspace.ports.transcripts.find(wanted).conversations if name else ()
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"{one.origin_id} ({one.agent}: {one.title})" for one in found)
            raise InputError(f"{name!r} begins several conversations of agents: {listed}; type more") from error
        raise InputError(f"{name}: there is no such file, and {error}") from error


def _copied(conversation: Conversation, records: Sequence[Record]) -> ImportedTranscript:
    events = tuple(record.event for record in records if not isinstance(record.event, SessionCreated | SessionForked))
    model = next((record.event.model for record in records if isinstance(record.event, SessionCreated)), "")
    facts = conversation.transcript
    return ImportedTranscript(format="session", events=events, model=model, title=facts.title, cwd=facts.cwd)


def _as_asked(transcript: ImportedTranscript, options: ReadingOptions, cut: Cut | None) -> ImportedTranscript:
    events = transcript.events
    if options.at is not None:
        events = tuple(first_messages(events, options.at))
    if options.model is not None:
        events = tuple(event for event in events if not isinstance(event, ModelChanged))
    events = events if cut is None else tuple(cut(events))
    return replace(transcript, events=events, model=options.model or transcript.model)


def _without_reports(workspace: Workspace, conversation: Conversation) -> Conversation:
    learned = replace(conversation.projection.tracker.calibration, hidden=0)
    workspace.ports.store.save_calibration(conversation.model, msgspec.json.encode(learned))
    first, *rest = (record.event for record in workspace.ports.store.read(conversation.id))
    copy = workspace.adopt(workspace.ports.ids.new("s"), [first])
    copy.record(*(event for event in rest if not isinstance(event, UsageReported)))
    return copy
