"""Imports: another program's transcript becomes a session, or continues the session that an earlier import made.

A transcript is recognized by its content: the ids and texts of its messages, among which are the ids that its own
program gave. Where the file lies, and what it is called, does not matter.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import (
    ContextEdited,
    ConversationImported,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    UsageReported,
)
from ullage.model.message import Message, Role, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Breakdown, MessageCount, UsageSource
from ullage.model.usage_report import is_doubtful
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.projection import counted, text_size
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionStore, StoredSession
from ullage.service.sessions import title_of

# Messages that are compared before a session's whole log is read. Many runs of a benchmark share their system prompt
# and some their first prompt; hardly any share the answer to it.
_RECOGNIZED_BY = 4
# Messages of a session from which on only the part of its log is read with which a transcript is compared. A shorter
# one is read whole, because a resumed conversation may have got another id at any place.
_LONG = 5_000


class ImportOutcome(StrEnum):
    """What an import did.

    `new`: it made a session. `unchanged`: the session of an earlier import has all messages already. `grown`: new
    messages were appended to the session of an earlier import. `diverged`: there is a session of an earlier import, but
    the transcript's messages differ from that session's, so a new session was made.
    """

    NEW = "new"
    UNCHANGED = "unchanged"
    GROWN = "grown"
    DIVERGED = "diverged"


class Imported(Struct, frozen=True, kw_only=True):
    """The session of an imported transcript. `added` counts the messages that this import has appended. `diverged_from`
    is the id of the session of the earlier import if the outcome is `diverged`, else None."""

    conversation: Conversation
    outcome: ImportOutcome
    added: int
    diverged_from: str | None = None


async def import_or_continue(
    workspace: Workspace, transcript: ImportedTranscript, cwd: str, path: str = "", *, held_back: bool = False
) -> Imported:
    """Imports a transcript: appends its new events to the session of an earlier import, or makes a session. Either is
    one transaction.

    A session of an earlier import is continued if it and the transcript have the same messages as far as the shorter
    one goes. If there are sessions of earlier imports but none can be continued (for example, one has other messages
    that were appended here), a session is made and `outcome` is `diverged`. `cwd` is the folder if the transcript names
    none. `path` is the agent's own file that was read, "" if an agent keeps none (`OwnFiles`): its session has the
    edits that the agent has made and no others, so a copy that was edited or continued here stays the user's, and
    another session is made. If `held_back`, nothing is published before `Conversation.publish`.
    """
    known = _sessions_of(workspace.ports.store, transcript.events)
    for session_id in known:
        more = missing_from(workspace.ports.store, session_id, 0, transcript.events)
        if more is not None and (not path or _is_unchanged(workspace.open(session_id), transcript.events)):
            conversation = workspace.open(session_id)
            if held_back:
                conversation.hold_back()
            return await continue_import(conversation, more, transcript.model, path)
    conversation = await import_transcript(workspace, transcript, cwd, path, held_back=held_back)
    added = conversation.transcript.messages
    if not known:
        return Imported(conversation=conversation, outcome=ImportOutcome.NEW, added=added)
    return Imported(conversation=conversation, outcome=ImportOutcome.DIVERGED, added=added, diverged_from=known[0])


async def import_transcript(
    workspace: Workspace, transcript: ImportedTranscript, cwd: str, path: str = "", *, held_back: bool = False
) -> Conversation:
    """Creates a session with the events of another program's transcript, in one transaction. Messages that the program
    itself compacted are archived in the session, too. `cwd` is the session's folder if the transcript names none, and
    `path` the agent's own file of the conversation, if it was read. `held_back` is as in `Workspace.adopt_log`."""
    created = SessionCreated(
        cwd=transcript.cwd or cwd, model=transcript.model, title=transcript.title or title_of(transcript.events)
    )
    draft = workspace.project(StoredSession(records=()), created.model)
    events = await counted(draft, _kept_at(path, transcript.events))
    return workspace.adopt_log(workspace.ports.ids.new("s"), created, events, held_back=held_back)


async def import_without_reports(workspace: Workspace, transcript: ImportedTranscript) -> tuple[Conversation, int]:
    """Imports a transcript and leaves out of its figures what the agent adds to every request. Returns the session,
    whose figures are counts alone, and the number of tokens that were left out."""
    conversation = await import_transcript(workspace, transcript, "")
    whole = conversation.used
    learned = replace(conversation.projection.tracker.calibration, hidden=0)
    workspace.ports.store.save_calibration(conversation.model, msgspec.json.encode(learned))
    first, *rest = (record.event for record in workspace.ports.store.read(conversation.id))
    copy = workspace.adopt(workspace.ports.ids.new("s"), [first])
    copy.record(*(event for event in rest if not isinstance(event, UsageReported)))
    return copy, max(0, whole - copy.used)


async def project_transcript(
    workspace: Workspace, transcript: ImportedTranscript, *, counts: bool = False
) -> Conversation:
    """Returns the conversation that an import of this transcript would open, without storing anything, to show its
    figures.

    Its messages are only counted if the figure depends on it: if they, or an edit, come after the last usage that a
    provider reported, if that may be a placeholder, or if the caller wants them (`counts`). The parts of the figure
    (`breakdown`) are not an import's.
    """
    # The model that the conversation has at its end counts all of its messages, as when a session is opened.
    model = last_model(transcript)
    draft = workspace.project(StoredSession(records=()), model)
    if not counts:
        uncounted = MessageCount(counter=draft.counter.name, parts=Breakdown())
        quick = [
            replace(event, count=uncounted) if isinstance(event, MessageAppended) else event
            for event in transcript.events
        ]
        conversation = _opened(workspace, transcript, quick, model)
        if (
            not is_last_doubtful(transcript.events)
            and conversation.projection.tracker.reading.source is UsageSource.REPORTED
        ):
            return conversation
    return _opened(workspace, transcript, await counted(draft, transcript.events), model)


def is_last_doubtful(events: Sequence[Event], least: int = 0) -> bool:
    """Returns whether the last report of a prompt may be a placeholder (`is_doubtful`), by the messages before it since
    the last edit of the context. `least` is the size of what is known to precede it, in bytes."""
    prompt = size = 0
    for event in reversed(events):
        match event:
            case UsageReported(usage=usage) if not prompt:
                prompt = usage.prompt
            case MessageAppended(message=message) if prompt:
                size += text_size(message)
            case ContextEdited() | EditReverted() if prompt:
                break
            case _:
                pass
    return prompt > 0 and is_doubtful(prompt, max(size, least))


def ends_with_newest(events: Sequence[Event]) -> bool:
    """Returns whether the last report of a usage is the newest of what changes the size of the context. Of lines whose
    parents are in an unread part of a file, a reader can't know the order."""
    reports = [event.timestamp for event in events if isinstance(event, UsageReported)]
    edits = [event.edit.timestamp for event in events if isinstance(event, ContextEdited)]
    return not reports or reports[-1] >= max([*reports, *edits])


def last_model(transcript: ImportedTranscript) -> str:
    """Returns the model that a transcript has at its end, "" if it names none."""
    changes = (event.model for event in reversed(transcript.events) if isinstance(event, ModelChanged))
    return next(changes, transcript.model)


def _opened(workspace: Workspace, transcript: ImportedTranscript, events: Sequence[Event], model: str) -> Conversation:
    created = SessionCreated(cwd=transcript.cwd, model=transcript.model, title=transcript.title)
    records = tuple(workspace.records(0, [created, *events]))
    projection = workspace.project(StoredSession(records=records), model)
    return Conversation("", workspace, projection, lambda _: None)


def copied_session(conversation: Conversation, records: Sequence[Record]) -> ImportedTranscript:
    """Returns a stored session as if it were read from a file. `records` are its log."""
    events = tuple(record.event for record in records if not isinstance(record.event, SessionCreated | SessionForked))
    model = next((record.event.model for record in records if isinstance(record.event, SessionCreated)), "")
    facts = conversation.transcript
    return ImportedTranscript(format="session", events=events, model=model, title=facts.title, cwd=facts.cwd)


def missing_events(stored: Sequence[Event], read: Sequence[Event]) -> tuple[Event, ...] | None:
    """Returns the events of `read`, a transcript, that a session with the events `stored` lacks: those after the
    messages that both have. Returns None if the messages of one are not the first messages of the other, or if their
    program gave the conversations different ids or parents (one is a fork or a part of the other). Edits made in the
    session do not matter, because they change no message."""
    origins, other_origins = _origins(stored), _origins(read)
    if origins and other_origins and not origins & other_origins:
        return None
    known, found = list(_messages(stored)), list(_messages(read))
    shared = min(len(known), len(found))
    if known[:shared] != found[:shared]:
        return None
    if len(found) < len(known):
        return ()
    rest = read[_place_after(read, shared) :]
    first = next((place for place, event in enumerate(rest) if isinstance(event, MessageAppended)), len(rest))
    # What follows the last shared message (its usage, an edit) may have been in the file already.
    had = _kept_at("", stored) if first else ()
    return (*(event for event in rest[:first] if event not in had), *rest[first:])


def before_open_results(last: Sequence[Message], events: Sequence[Event]) -> Sequence[Event]:
    """Returns the events, which follow these last messages of a session, up to the first message after an answer of
    which some calls have no result: others may join it."""
    places = [place for place, event in enumerate(events) if isinstance(event, MessageAppended)]
    messages = [*last, *(event.message for event in events if isinstance(event, MessageAppended))]
    calls, following = set[str](), list[int]()
    for place, message in zip([*[-1] * len(last), *places], messages, strict=True):
        if message.role is Role.ASSISTANT:
            calls, following = {block.id for block in message.content if isinstance(block, ToolUseBlock)}, []
        else:
            calls -= {block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)}
            following.append(place)
    return events[: following[0]] if calls and following else events


def missing_from(store: SessionStore, session_id: str, at: int, read: Sequence[Event]) -> tuple[Event, ...] | None:
    """Returns the events of `read` that a session lacks, as `missing_events` does. `read` is what follows the first
    `at` messages of a transcript, and the session has the same ones.

    Of a long session only the part is read with which `read` is compared.
    """
    stop = at + sum(1 for _ in _messages(read))
    before = store.read_messages(session_id, at - 1, at) if at else ()
    is_long = at > 0 or store.info(session_id).messages > max(stop, _LONG)
    further = store.read_messages(session_id, stop, stop + 1) if is_long else ()
    start, end = (before[0].position + 1 if before else 0), (further[0].position if further else None)
    more = missing_events([record.event for record in store.read(session_id, start, end)], read)
    return () if further and more is not None else more


async def continue_import(
    conversation: Conversation, more: Sequence[Event], model: str, path: str = "", *, with_snapshot: bool = True
) -> Imported:
    """Appends the events that an earlier import has not read yet, in one transaction. `model` is the first model of the
    transcript, which may have had no answer yet when the session was made. `path` is the agent's own file, "" for the
    one that the session has. `with_snapshot` says whether a snapshot is kept, which takes as long as the context is
    large."""
    origin = conversation.transcript.origin
    if origin is not None:
        more = _kept_at(path or origin.path, more)
        if path and path != origin.path:
            more = (replace(origin, path=path), *more)
    if not more:
        return Imported(conversation=conversation, outcome=ImportOutcome.UNCHANGED, added=0)
    async with conversation.work.appending():
        events = await _counted_in(conversation, more, model)
        with conversation.one_change():
            conversation.record(*events)
            conversation.keep_calibration()
            if with_snapshot:
                conversation.keep_snapshot()
    return Imported(conversation=conversation, outcome=ImportOutcome.GROWN, added=len(list(_messages(more))))


async def imagine_import(conversation: Conversation, more: Sequence[Event], model: str) -> Conversation:
    """Returns the conversation as `continue_import` would leave it, without storing anything."""
    return conversation.imagine(*await _counted_in(conversation, more, model))


async def _counted_in(conversation: Conversation, more: Sequence[Event], model: str) -> list[Event]:
    if model and not conversation.transcript.model:
        more = (ModelChanged(model=model), *more)
    return await counted(conversation.projection, more)


def _sessions_of(store: SessionStore, events: Sequence[Event]) -> list[str]:
    """Returns the ids of the sessions that begin with the messages of these events, last created first. At most four
    messages are compared."""
    first = list(islice(_messages(events), _RECOGNIZED_BY))
    found: list[str] = []
    for session_id in store.sessions_with(first[0].id) if first else ():
        stored = _messages([record.event for record in store.read_messages(session_id, 0, _RECOGNIZED_BY)])
        if all(one == other for one, other in zip(stored, first, strict=False)):
            found.append(session_id)
    return found


def _is_unchanged(conversation: Conversation, read: Sequence[Event]) -> bool:
    """Returns whether a session is as the agent has the conversation: it was not continued here, and has no edit of the
    user's. `read` are the events of the agent's file, or of its beginning if the session has more messages."""
    transcript = conversation.transcript
    if transcript.origin is None:
        return transcript.agent is not None
    if transcript.origin.path or transcript.messages > sum(1 for _ in _messages(read)):
        return True
    made = {event.edit.id for event in read if isinstance(event, ContextEdited)}
    undone = {event.edit_id for event in read if isinstance(event, EditReverted)}
    return all(
        edit.id in made and (not edit.reverted or edit.id in undone or edit.kind == "rewind")
        for edit in transcript.edits
    )


def _kept_at(path: str, events: Sequence[Event]) -> tuple[Event, ...]:
    """Returns the events. Those that say where the conversation comes from name the agent's own file `path`."""
    return tuple(replace(event, path=path) if isinstance(event, ConversationImported) else event for event in events)


def _messages(events: Sequence[Event]) -> Iterator[Message]:
    return (event.message for event in events if isinstance(event, MessageAppended))


def _origins(events: Sequence[Event]) -> set[tuple[str, str]]:
    """Returns the ids that another program has given to the conversation, each with the id of the conversation that it
    was split from; a resumed one may have several."""
    imported = (event for event in events if isinstance(event, ConversationImported))
    return {(event.origin_id, event.parent_id) for event in imported if event.origin_id}


def _place_after(events: Sequence[Event], messages: int) -> int:
    if messages == 0:
        return 0
    places = [place for place, event in enumerate(events) if isinstance(event, MessageAppended)]
    return places[messages - 1] + 1
