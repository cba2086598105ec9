"""What can be done with sessions as a whole."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import ResourceBlock, TextBlock, ToolResultBlock
from ullage.model.edits import EditTrigger, Replacement, RewriteEdit
from ullage.model.errors import InvalidRequest
from ullage.model.events import (
    ContextEdited,
    Event,
    MessageAppended,
    MessagePinned,
    ModelChanged,
    SessionConfigured,
    SessionCreated,
    SessionForked,
    SessionRenamed,
    ToolsDeclared,
    UsageReported,
)
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import Settings
from ullage.model.updates import SessionInfoUpdate
from ullage.model.usage import Usage
from ullage.service.compact.automatic import look_after
from ullage.service.conversation.checkpoints import Checkpoint, position_of
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionInfo
from ullage.transcript.rules.tool_pairs import is_prompt

_TITLE_CHARS = 60
# Counting this much text takes about 50 ms; beyond it the event loop must stay free for others.
_COUNT_INLINE_CHARS = 200_000


class Appended(Struct, frozen=True, kw_only=True):
    """What an append did."""

    session: Session
    message_ids: tuple[str, ...]


def new_session(
    workspace: Workspace,
    created: SessionCreated,
    system: str = "",
    tools: Sequence[ToolDefinition] = (),
    context: Mapping[str, Any] | None = None,
) -> Session:
    """Starts a session, with its system prompt, its tools and context settings of its own if it has any."""
    events: list[Event] = [created]
    if context:
        events.append(_configured(context))
    if tools:
        events.append(ToolsDeclared(tools=tuple(tools)))
    session = workspace.adopt(workspace.ports.ids.new("s"), events)
    if system:
        return change_system_prompt(workspace, session.id, system)
    tell_usage(workspace, session)
    return session


def load_session(workspace: Workspace, session_id: str) -> Session:
    """Opens a session and tells how full it is."""
    session = workspace.session(session_id)
    tell_usage(workspace, session)
    return session


async def append(workspace: Workspace, session_id: str, messages: Sequence[Message], usage: Usage | None) -> Appended:
    """Adds messages, and the provider's usage of the request whose answer is the last assistant message among
    them (or, without one, of the session). A message that is there already with the same content is passed over,
    so a client that missed the answer may send again. Raises `InvalidRequest` for an id with other content.

    Appends of one session are taken in the order they came in, also while a large one is counted in a thread.
    """
    async with workspace.appending(session_id):
        return await _append(workspace, session_id, messages, usage)


async def _append(workspace: Workspace, session_id: str, messages: Sequence[Message], usage: Usage | None) -> Appended:
    session = workspace.session(session_id)
    new = [message for message in messages if _is_new(workspace, session, message)]
    events: list[Event] = [*await _counted(session, [MessageAppended(message=message) for message in new])]
    # An edit that was taken back meanwhile has made it another one.
    session = workspace.session(session_id)
    titled = [] if session.transcript.title else _titled(messages)
    events += titled
    if usage is not None:
        events.append(UsageReported(usage=usage, message_id=_answer_id(session, messages)))
    if events:
        session = workspace.record(session, *events)
    for event in titled:
        workspace.emit(session.id, SessionInfoUpdate(title=event.title))
    if usage is not None:
        workspace.keep_calibration(session)
    tell_usage(workspace, session)
    look_after(workspace, session, answered=any(message.role is Role.ASSISTANT for message in messages))
    return Appended(session=session, message_ids=tuple(message.id for message in messages))


def change_system_prompt(workspace: Workspace, session_id: str, text: str) -> Session:
    """From here on the model is told something else first. What it was told before stays in the transcript."""
    session, ids = workspace.session(session_id), workspace.ports.ids
    now = workspace.ports.clock.now()
    old = [item.message for item in session.transcript.items if item.message.role is Role.SYSTEM]
    if old:
        replacements = tuple(_rewritten(old, text))
        rewrite = RewriteEdit(id=ids.new("e"), timestamp=now, trigger=EditTrigger.MANUAL, replacements=replacements)
        event: Event = ContextEdited(edit=rewrite)
    else:
        prompt = Message(id=ids.new("m"), role=Role.SYSTEM, content=(TextBlock(text=text),), timestamp=now)
        event = MessageAppended(message=prompt, count=session.count(prompt))
    session = workspace.record(session, event)
    tell_usage(workspace, session)
    return session


def change_model(workspace: Workspace, session_id: str, model: str) -> Session:
    """Goes on with another model: other window, other counts."""
    session = workspace.record(workspace.session(session_id), ModelChanged(model=model))
    tell_usage(workspace, session)
    look_after(workspace, session)
    return session


def configure_session(workspace: Workspace, session_id: str, context: Mapping[str, Any]) -> Session:
    """Gives a session context settings of its own, in place of those it had. Raises `InvalidRequest`."""
    session = workspace.record(workspace.session(session_id), _configured(context))
    tell_usage(workspace, session)
    look_after(workspace, session)
    return session


def declare_tools(workspace: Workspace, session_id: str, tools: Sequence[ToolDefinition]) -> Session:
    """Replaces the tools that are offered to the model."""
    session = workspace.record(workspace.session(session_id), ToolsDeclared(tools=tuple(tools)))
    tell_usage(workspace, session)
    return session


def fork_session(workspace: Workspace, session_id: str, message_id: str | None, title: str) -> Session:
    """A new session that shares the past up to a message (or all of it), archived or not, a marker or notice.

    It inherits the edits and settings in force there, and of the present pins those of messages that it has. Raises
    `MessageNotFound`.
    """
    parent = workspace.session(session_id)
    position = parent.transcript.position
    if message_id is not None:
        position = position_of(workspace.ports.store, session_id, Checkpoint(message_id=message_id))
    event = SessionForked(
        parent_id=session_id, position=position, title=title or f"{parent.transcript.title} (fork)".strip()
    )
    session = workspace.fork(position, workspace.ports.ids.new("s"), event)
    session = _with_pins(workspace, session, parent.transcript.pinned)
    tell_usage(workspace, session)
    return session


async def import_transcript(workspace: Workspace, transcript: ImportedTranscript, cwd: str) -> Session:
    """A new session with a foreign transcript's events; what it compacted itself is archived here too."""
    created = SessionCreated(
        cwd=cwd or transcript.cwd, model=transcript.model, title=transcript.title or _title_of(transcript.events)
    )
    session = workspace.adopt(workspace.ports.ids.new("s"), [created])
    session = workspace.record(session, *await _counted(session, transcript.events))
    workspace.keep_calibration(session)
    workspace.keep_snapshot(session)
    tell_usage(workspace, session)
    look_after(workspace, session)
    return session


def configure(workspace: Workspace, settings: Settings) -> None:
    """Takes new settings; every open session is looked at again under them."""
    if settings == workspace.settings:
        return
    workspace.configure(settings)
    for session in workspace.open_sessions:
        workspace.choose_counter(session)
        tell_usage(workspace, session)
        look_after(workspace, session)


async def delete_session(workspace: Workspace, session_id: str) -> SessionInfo:
    """Takes a session off the list and out of memory."""
    info = workspace.ports.store.info(session_id)
    await workspace.end(session_id)
    workspace.ports.store.delete(session_id)
    return info


def _configured(context: Mapping[str, Any]) -> SessionConfigured:
    try:
        return SessionConfigured(context=dict(context))
    except ValidationError as error:
        raise InvalidRequest(f"these are no context settings: {error}") from None


def _rewritten(old: Sequence[Message], text: str) -> Iterator[Replacement]:
    """The text in place of the first block, nothing in place of all others."""
    blocks = [(message.id, block) for message in old for block in range(len(message.content))]
    for number, (message_id, block) in enumerate(blocks):
        yield Replacement(message_id=message_id, block=block, text="" if number else text)


def _is_new(workspace: Workspace, session: Session, message: Message) -> bool:
    found = workspace.ports.store.find_message(session.id, message.id)
    if found is None or not isinstance(found.event, MessageAppended):
        return True
    known = found.event.message
    if (known.role, known.content) != (message.role, message.content):
        raise InvalidRequest(
            f"message id {message.id!r} is taken by another message of this session; leave ids out to have them made"
        )
    return False


async def _counted(session: Session, events: Sequence[Event]) -> list[Event]:
    """The events with their messages' counts, in a thread where there is much to count."""
    chars = sum(text_length(event.message) for event in events if isinstance(event, MessageAppended))
    if chars > _COUNT_INLINE_CHARS:
        return await asyncio.to_thread(_with_counts, session, events)
    return _with_counts(session, events)


def _with_counts(session: Session, events: Sequence[Event]) -> list[Event]:
    return [
        replace(event, count=session.count(event.message)) if isinstance(event, MessageAppended) else event
        for event in events
    ]


def text_length(message: Message) -> int:
    """Characters of a message's texts and results, for deciding how to handle it."""
    return sum(
        len(part.text or "")
        for block in message.content
        for part in (block.content if isinstance(block, ToolResultBlock) else (block,))
        if isinstance(part, TextBlock | ResourceBlock)
    )


def _answer_id(session: Session, messages: Sequence[Message]) -> str:
    """The message a usage report belongs to."""
    for message in reversed(messages):
        if message.role is Role.ASSISTANT:
            return message.id
    for item in reversed(session.transcript.items):
        if item.message.role is Role.ASSISTANT:
            return item.message.id
    raise InvalidRequest("usage needs an assistant message that it belongs to; append the answer with it")


def _titled(messages: Sequence[Message]) -> list[SessionRenamed]:
    title = _title_of([MessageAppended(message=message) for message in messages])
    return [SessionRenamed(title=title)] if title else []


def _title_of(events: Sequence[Event]) -> str:
    """The beginning of the first thing the user asked."""
    for event in events:
        if isinstance(event, MessageAppended) and is_prompt(event.message):
            line = next((line.strip() for line in event.message.text.splitlines() if line.strip()), "")
            if line:
                return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"
    return ""


def _with_pins(workspace: Workspace, fork: Session, pinned: Set[str]) -> Session:
    """The fork with the parent's present pins: a message is mostly pinned later than it is written."""
    own = fork.transcript.pinned
    news = sorted(message_id for message_id in pinned - own if message_id in fork.counts)
    changes = [MessagePinned(message_id=message_id) for message_id in news]
    changes += [MessagePinned(message_id=message_id, pinned=False) for message_id in sorted(own - pinned)]
    return workspace.record(fork, *changes) if changes else fork
