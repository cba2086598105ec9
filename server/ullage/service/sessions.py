"""Operations on whole sessions: create, load, append, configure, fork, delete; and import: another program's
transcript becomes a session, or continues the one that an earlier import made. A transcript is recognized by the ids
and texts of its messages, not by where its file lies."""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Reversible, Sequence, Set
from contextlib import suppress
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ullage.agents.agent import first_prompt, is_lone_command
from ullage.agents.inserted import typed_texts
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import InvalidRequest, StoreError
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationContinued,
    ConversationImported,
    DropEdit,
    Edit,
    EditReverted,
    EditTrigger,
    Event,
    MessageAppended,
    MessagePinned,
    ModelChanged,
    PromptListed,
    Record,
    Replacement,
    RewriteEdit,
    SessionConfigured,
    SessionCreated,
    SessionForked,
    SessionRenamed,
    ToolsDeclared,
    UsageReported,
    WindowReported,
)
from ullage.model.message import (
    Block,
    Message,
    Role,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    find_marker,
)
from ullage.model.settings import check_context, overridden
from ullage.model.usage import Breakdown, MessageCount, Usage, UsageSource
from ullage.model.usage_report import is_doubtful
from ullage.service.conversation.conversation import Checkpoint, Conversation, position_of
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.projection import Projection, counted, text_size
from ullage.service.conversation.usage import publish_usage, require_not_kept
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import ALL_SESSIONS, ImportedSession, SessionInfo, SessionStore, StoredSession
from ullage.transcript.view import is_prompt

log = logging.getLogger(__name__)
_TITLE_CHARS = 60


def new_session(  # noqa: PLR0913 (each is a part of a session)
    workspace: Workspace,
    created: SessionCreated,
    system: str | Sequence[Message] = "",
    tools: Sequence[ToolDefinition] = (),
    context: Mapping[str, Any] | None = None,
    *,
    session_id: str = "",
) -> Conversation:
    """Creates a session with its system prompt, tools and own context settings, if given, in one transaction, and
    returns its conversation. `system` is a text, or messages of the system's role, which are given new ids.
    `session_id` is an id that no session has; without it a new one is made. Raises `InvalidRequest` if `context` is not
    valid."""
    session_id = session_id or workspace.ports.ids.new("s")
    events: list[Event] = [created]
    if context:
        events.append(_configured(workspace, context))
    if tools:
        events.append(ToolsDeclared(tools=tuple(tools)))
    if system:
        empty = workspace.project(StoredSession(records=()), created.model)
        prompts = [_prompt((TextBlock(text=system),))] if isinstance(system, str) else system
        events += [_prompted(workspace, empty, prompt) for prompt in prompts]
    conversation = workspace.adopt(session_id, events)
    conversation.record()
    return conversation


def load_session(workspace: Workspace, session_id: str) -> Conversation:
    """Opens a session, publishes its usage and returns its conversation. Raises `SessionNotFound`."""
    conversation = workspace.open(session_id)
    publish_usage(conversation)
    return conversation


class MessagesWithUsage(Struct, frozen=True, kw_only=True):
    """Messages to append, and the provider's usage of the request that produced the last assistant message among them,
    or else the last one before them."""

    messages: Sequence[Message]
    usage: Usage | None = None


async def append(
    conversation: Conversation,
    messages: Sequence[Message],
    usage: Usage | None,
    made: Set[str] = frozenset(),
    first: Sequence[Event] = (),
) -> tuple[str, ...]:
    """Appends messages and their usage; see `append_all`. Returns the messages' ids."""
    await append_all(conversation, [MessagesWithUsage(messages=messages, usage=usage)], made, first)
    return tuple(message.id for message in messages)


async def append_all(
    conversation: Conversation,
    parts: Sequence[MessagesWithUsage],
    made: Set[str] = frozenset(),
    first: Sequence[Event] = (),
) -> None:
    """Appends messages with their usages, and before them the events `first`, all in one transaction. An imported
    conversation counts as continued from here on, so Ullage manages it. `made` holds ids that `Ids` has just made; they
    are not looked up in the log.

    A message that is already in the log with the same content is skipped, so a client that missed the result may send
    again. Raises `SessionFollowed`, and `InvalidRequest` for a known id with other content and for a usage without any
    assistant message. Appends of one session run in the order of the calls, also while a large message is counted in a
    thread.
    """
    require_not_kept(conversation)
    async with conversation.work.appending():
        after = conversation.imagine(*first) if first else conversation
        titled, seen = bool(conversation.transcript.title), dict[str, Message]()
        events: list[Event] = []
        for part in parts:
            new = [one for one in _once(part.messages, seen) if one.id in made or _is_new(conversation, one)]
            events += await counted(after.projection, [MessageAppended(message=message) for message in new])
            title = [] if titled else _titled(part.messages)
            titled = titled or bool(title)
            events += title
            if part.usage is not None:
                events.append(UsageReported(usage=part.usage, message_id=_answer_id(after, seen.values())))
        if conversation.transcript.origin is not None and any(isinstance(one, MessageAppended) for one in events):
            events.insert(0, ConversationContinued())
        conversation.record(*first, *events)
        if any(part.usage is not None for part in parts):
            conversation.keep_calibration()


async def append_compacted(conversation: Conversation, messages: Sequence[Message]) -> Sequence[Message]:
    """Begins a conversation with the result of an earlier compaction, if one of `messages` has the text of a marker and
    the conversation has no answer yet. Appends the messages before the marker and the marker itself, with the number
    in its text: so many messages count as archived, and later messages are numbered from there. Returns the messages
    that are still to be appended, all of them if there is no marker."""
    present = [item.message for item in conversation.transcript.items]
    if any(message.role is Role.ASSISTANT or message.compaction for message in present):
        return messages
    at, block = find_marker(messages)
    if block is None:
        return messages
    marker = messages[at]
    # In the place of the messages that the summary is of.
    numbers = range(block.messages_archived)
    stand_ins = [Message(id=f"{marker.id}-{number}", role=Role.ASSISTANT, content=()) for number in numbers]
    await append(conversation, [*messages[:at], *stand_ins], None)
    edit = CompactionEdit(
        id=f"{marker.id}-edit",
        timestamp=0,
        trigger=EditTrigger.MANUAL,
        start=0,
        end=conversation.transcript.messages,
        marker=replace(marker, role=Role.USER, content=(block,)),
        leading=tuple(message.id for message in (*present, *messages[:at])),
    )
    conversation.record(ContextEdited(edit=edit))
    return messages[at + 1 :]


def change_system_prompt(conversation: Conversation, system: str | Message) -> None:
    """Replaces the system prompt in the view by a text or a message of the system's role, or adds it if there is none.
    The old prompt stays in the transcript. Raises `SessionFollowed`."""
    require_not_kept(conversation)
    ids, now = conversation.workspace.ports.ids, conversation.workspace.ports.clock.now()
    old = [item.message for item in conversation.transcript.items if item.message.role is Role.SYSTEM]
    prompt = _prompt((TextBlock(text=system),)) if isinstance(system, str) else system
    edit_id = ids.new("e")
    edit: Edit
    if not old:
        conversation.record(_prompted(conversation.workspace, conversation.projection, prompt))
        return
    if isinstance(system, str) and not any(message.provided for message in old):
        replacements = tuple(_rewritten(old, system))
        edit = RewriteEdit(id=edit_id, timestamp=now, trigger=EditTrigger.MANUAL, replacements=replacements)
    else:
        # What a program gave as a whole is not changed but exchanged.
        notice = replace(prompt, id=f"{edit_id}-prompt", timestamp=now)
        gone = tuple(message.id for message in old)
        edit = DropEdit(id=edit_id, timestamp=now, trigger=EditTrigger.MANUAL, message_ids=gone, notice=notice)
    conversation.record(ContextEdited(edit=edit))


def add_system_prompt(conversation: Conversation, content: Sequence[Block]) -> None:
    """Appends the system prompt of a session that has none."""
    conversation.record(_prompted(conversation.workspace, conversation.projection, _prompt(content)))


def change_model(conversation: Conversation, model: str) -> None:
    """Changes the session's model, and with it the window and the token counter. Raises `SessionFollowed`."""
    require_not_kept(conversation)
    conversation.record(ModelChanged(model=model))


def configure_session(conversation: Conversation, context: Mapping[str, Any]) -> None:
    """Replaces the session's own settings by the JSON settings `context`. Raises `InvalidRequest`."""
    conversation.record(_configured(conversation.workspace, context))


def declare_tools(conversation: Conversation, tools: Sequence[ToolDefinition]) -> None:
    """Replaces the tools that are offered to the model. Raises `SessionFollowed`."""
    require_not_kept(conversation)
    conversation.record(ToolsDeclared(tools=tuple(tools)))


def fork_session(
    workspace: Workspace, parent: Conversation, message_id: str | None, title: str, *, session_id: str = ""
) -> Conversation:
    """Creates a session that shares its parent's log up to a message, or all of it if `message_id` is None. It may name
    an archived message, a marker or a notice.

    The fork inherits the edits and settings in force at that place. It has the pins that its parent has now, as far as
    it has the messages. `session_id` is as in `new_session`. Raises `MessageNotFound`.
    """
    position = parent.transcript.position
    if message_id is not None:
        position = position_of(workspace.ports.store, parent.id, Checkpoint(message_id=message_id))
    event = SessionForked(
        parent_id=parent.id, position=position, title=title or f"{parent.transcript.title} (fork)".strip()
    )
    pinned = parent.transcript.pinned
    fork = workspace.fork(
        position, session_id or workspace.ports.ids.new("s"), event, lambda draft: _pins(draft, pinned)
    )
    # As after a change of settings: nothing of it is edited before the user goes on.
    fork.adapt()
    return fork


def rename(conversation: Conversation, title: str) -> None:
    """Sets the session's title, with single spaces for white space. Raises `InvalidRequest` if it is blank."""
    line = " ".join(title.split())
    if not line:
        raise InvalidRequest("a title needs at least one character")
    conversation.record(SessionRenamed(title=line))


async def delete_session(workspace: Workspace, session_id: str, *, erase: bool = True) -> SessionInfo:
    """Deletes a session: ends its work, closes it, removes it from the list, and removes what is kept of an agent's
    session outside the store. Its sub-agents' sessions are deleted with it, unless another session is of the same.
    With `erase`, overwrites what they have left in files; that another process keeps it from doing so is logged.
    Returns the session as it was last listed. Raises `SessionNotFound`."""
    store = workspace.ports.store
    info, imported = store.info(session_id), store.imported()
    origins = {one.session_id: one for one in imported}
    names, alone = [session_id], list[ImportedSession]()
    for name in names:
        await workspace.end(name)
        store.delete(name)
        for listener in tuple(workspace.deletion_listeners):
            listener(name)
        if (origin := origins.get(name)) and not _is_needed(store, origin):
            workspace.remove_traces(origin.origin_id, origin.path)
            alone.append(origin)
            started = [
                one
                for one in imported
                if one.parent_id and (one.agent, one.parent_id) == (origin.agent, origin.origin_id)
            ]
            names += [one.session_id for one in started if one.is_sub_agent and one.session_id not in names]
    if erase:
        await _to_its_end(asyncio.ensure_future(_erase(workspace, session_id, alone)))
    return info


async def _erase(workspace: Workspace, session_id: str, alone: Sequence[ImportedSession]) -> None:
    try:
        await asyncio.to_thread(workspace.ports.store.erase_deleted)
        for one in alone:
            await asyncio.to_thread(workspace.remove_traces.remove_kept, one.origin_id, one.path)
    except StoreError as error:
        log.warning("session %s is deleted, but parts of it are still in files: %s", session_id, error)


async def _to_its_end(work: asyncio.Future[None]) -> None:
    """Waits for work that can't be reverted, also if the waiting task is cancelled: its answer says so."""
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
    work.result()


def _is_needed(store: SessionStore, origin: ImportedSession) -> bool:
    """Says whether another session in the store is of the same session of an agent, or a fork of this one."""
    same = any((one.agent, one.origin_id) == (origin.agent, origin.origin_id) for one in store.imported())
    return same or any(one.parent_id == origin.session_id for one in store.list(limit=ALL_SESSIONS))


def _configured(workspace: Environment, context: Mapping[str, Any]) -> SessionConfigured:
    try:
        check_context(overridden(workspace.settings.context, context))
        return SessionConfigured(context=dict(context))
    except ValidationError as error:
        raise InvalidRequest(f"these context settings cannot be used: {error}") from None


def _rewritten(old: Sequence[Message], text: str) -> Iterator[Replacement]:
    """Yields replacements that put the text into the first block of these messages and empty all their other blocks."""
    blocks = [(message.id, block) for message in old for block in range(len(message.content))]
    for number, (message_id, block) in enumerate(blocks):
        yield Replacement(message_id=message_id, block=block, text="" if number else text)


def _prompt(content: Sequence[Block]) -> Message:
    return Message(id="", role=Role.SYSTEM, content=tuple(content))


def _prompted(workspace: Environment, projection: Projection, message: Message) -> MessageAppended:
    """Returns the event that appends the system prompt of a session that has none."""
    ports = workspace.ports
    prompt = replace(message, id=ports.ids.new("m"), timestamp=ports.clock.now())
    return MessageAppended(message=prompt, count=projection.count(prompt))


def _once(messages: Sequence[Message], seen: dict[str, Message]) -> Iterator[Message]:
    """Yields the messages that are not `seen`, and adds them there. Raises `InvalidRequest` if two have one id."""
    for message in messages:
        if message.id in seen:
            _require_same(seen[message.id], message)
        else:
            seen[message.id] = message
            yield message


def _is_new(conversation: Conversation, message: Message) -> bool:
    found = conversation.workspace.ports.store.find_message(conversation.id, message.id)
    if found is None or not isinstance(found.event, MessageAppended):
        return True
    _require_same(found.event.message, message)
    return False


def _require_same(known: Message, message: Message) -> None:
    if (known.role, known.content) != (message.role, message.content):
        raise InvalidRequest(
            f"message id {message.id!r} is taken by another message of this session; leave ids out to have them made"
        )


def _answer_id(conversation: Conversation, messages: Reversible[Message]) -> str:
    """Returns the last answer of `messages`, else of the view, whose a usage is. Raises `InvalidRequest`."""
    for message in reversed(messages):
        if message.role is Role.ASSISTANT:
            return message.id
    for item in reversed(conversation.transcript.items):
        if item.message.role is Role.ASSISTANT:
            return item.message.id
    raise InvalidRequest("usage needs an assistant message that it belongs to; append the answer with it")


def _titled(messages: Sequence[Message]) -> list[SessionRenamed]:
    title = title_of([MessageAppended(message=message) for message in messages])
    return [SessionRenamed(title=title)] if title else []


def _better_title(conversation: Conversation, more: Sequence[Event]) -> Sequence[SessionRenamed]:
    """Returns the title that further events give a session whose messages have said nothing yet."""
    if (title := conversation.transcript.title) and not is_lone_command(title):
        return ()
    better = title_of(more)
    return () if not better or is_lone_command(better) else (SessionRenamed(title=better),)


def title_of(events: Sequence[Event]) -> str:
    """Returns a title for a session, cut to 60 characters: the first line that the user typed, as lists of agents' own
    files have it, else the first line of what the user pasted. Empty if there is none."""
    appended = (event.message for event in events if isinstance(event, MessageAppended))
    asked = (_without_unknown_parts(message) for message in appended if is_prompt(message))
    texts = [text for message in asked for text in typed_texts(message)]
    line = first_prompt(texts) or next((line.strip() for text in texts for line in text.splitlines()), "")
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"


def _without_unknown_parts(message: Message) -> Message:
    """Returns a prompt without the JSON of parts of kinds that Ullage does not know."""
    texts = [block for block in message.content if isinstance(block, TextBlock)]
    known = (each for each in texts if each.provided is None or "text" in each.provided.fields)
    return replace(message, content=tuple(known))


def _pins(fork: Conversation, pinned: Set[str]) -> Iterator[MessagePinned]:
    """Yields the events that give a fork the pins that its parent has now. Most messages are pinned later than they are
    written, so the pins in the log up to the fork are not enough."""
    own, known = fork.transcript.pinned, fork.projection.counts
    for message_id in sorted(message_id for message_id in pinned - own if message_id in known):
        yield MessagePinned(message_id=message_id)
    for message_id in sorted(own - pinned):
        yield MessagePinned(message_id=message_id, pinned=False)


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
    store, events = workspace.ports.store, transcript.events
    alike = _sessions_with_first(store, events)
    for session_id in alike:
        # A conversation that was forked a hundred times has a hundred sessions that begin alike: most are not read.
        imports = [record.event for record in store.read_imports(session_id)]
        if _are_apart(imports, events) or not _begins_alike(store, session_id, events):
            continue
        more = missing_from(store, session_id, 0, events)
        if more is not None and (not path or _is_unchanged(workspace.open(session_id), events)):
            conversation = workspace.open(session_id)
            if held_back:
                conversation.hold_back()
            return await continue_import(conversation, more, transcript.model, path)
    diverged_from = next((session_id for session_id in alike if _begins_alike(store, session_id, events)), None)
    conversation = await import_transcript(workspace, transcript, cwd, path, held_back=held_back)
    if _is_second(store, events, conversation.id, alike):
        await workspace.end(conversation.id)
        store.delete(conversation.id)
        return await import_or_continue(workspace, transcript, cwd, path, held_back=held_back)
    outcome = ImportOutcome.NEW if diverged_from is None else ImportOutcome.DIVERGED
    added = conversation.transcript.messages
    return Imported(conversation=conversation, outcome=outcome, added=added, diverged_from=diverged_from)


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


# What holds until another of its kind: the same may be said twice, with another between.
_STATES = ModelChanged | ToolsDeclared | PromptListed | WindowReported


def missing_events(stored: Sequence[Event], read: Sequence[Event]) -> tuple[Event, ...] | None:
    """Returns the events of `read`, a transcript, that a session with the events `stored` lacks: those after the
    messages that both have. Returns None if the messages of one are not the first messages of the other, or if their
    program gave the conversations different ids or parents (one is a fork or a part of the other). Edits made in the
    session do not matter, because they change no message."""
    if _are_apart(stored, read):
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
    now = had[_place_after(had, shared) :] if first else ()
    lacking = [event for event in rest[:first] if event not in (now if isinstance(event, _STATES) else had)]
    lacking = without_edits(lacking, {event.edit.id for event in had if isinstance(event, ContextEdited)})
    return (*lacking, *rest[first:])


def without_edits(events: Sequence[Event], known: Set[str]) -> Sequence[Event]:
    """Returns the events without edits whose ids are known: a log adds the size of the context to what was read of an
    edit."""
    return tuple(event for event in events if not (isinstance(event, ContextEdited) and event.edit.id in known))


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
        conversation.catch_up()
        return Imported(conversation=conversation, outcome=ImportOutcome.UNCHANGED, added=0)
    async with conversation.work.appending():
        events = await _counted_in(conversation, more, model)
        with conversation.one_change():
            lacking = partial(_lacking, conversation)
            conversation.record(*events, *_better_title(conversation, more), lacking=lacking)
            conversation.keep_calibration()
            if with_snapshot:
                conversation.keep_snapshot()
    return Imported(conversation=conversation, outcome=ImportOutcome.GROWN, added=len(list(_messages(more))))


def _lacking(conversation: Conversation, events: Sequence[Event]) -> Sequence[Event]:
    """Returns those of an import's events that a session lacks: another process that reads the same file may have
    appended them since it was looked up."""
    store, first = conversation.workspace.ports.store, next(_messages(events), None)
    found = store.find_message(conversation.id, first.id) if first else None
    events = without_edits(events, {edit.id for edit in conversation.transcript.edits})
    if found is None:
        return events
    more = missing_events([record.event for record in store.read(conversation.id, found.position)], events)
    return events if more is None else more


async def imagine_import(conversation: Conversation, more: Sequence[Event], model: str) -> Conversation:
    """Returns the conversation as `continue_import` would leave it, without storing anything."""
    return conversation.imagine(*await _counted_in(conversation, more, model))


async def _counted_in(conversation: Conversation, more: Sequence[Event], model: str) -> list[Event]:
    if model and not conversation.transcript.model:
        more = (ModelChanged(model=model), *more)
    return await counted(conversation.projection, more)


def _sessions_with_first(store: SessionStore, events: Sequence[Event]) -> Sequence[str]:
    """Returns the sessions that have the first message of these events, last created first."""
    first = next(_messages(events), None)
    return store.sessions_with(first.id) if first else ()


def _is_second(store: SessionStore, events: Sequence[Event], session_id: str, alike: Collection[str]) -> bool:
    """Returns whether another process has made a session of the same events before this one, and after `alike` were
    those that there were. False if the store fails: the session is made."""
    with suppress(StoreError):
        now = [*_sessions_with_first(store, events), session_id]
        return not set(now[now.index(session_id) + 1 :]) <= {*alike, session_id}
    return False


def _begins_alike(store: SessionStore, session_id: str, events: Sequence[Event]) -> bool:
    """Returns whether a session begins with the first four messages of these events."""
    stored = _messages([record.event for record in store.read_messages(session_id, 0, _RECOGNIZED_BY)])
    return all(one == other for one, other in zip(stored, islice(_messages(events), _RECOGNIZED_BY), strict=False))


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


def _are_apart(stored: Sequence[Event], read: Sequence[Event]) -> bool:
    """Returns whether the conversations of which these are events got different ids or parents from their program."""
    origins, other_origins = _origins(stored), _origins(read)
    return bool(origins and other_origins and not origins & other_origins)


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
