"""What can be done with sessions as a whole."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import ValidationError
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
from ullage.model.usage import Usage
from ullage.service.conversation.checkpoints import Checkpoint, position_of
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.usage import publish_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionInfo
from ullage.transcript.rules.tool_pairs import is_prompt

_TITLE_CHARS = 60
# Counting this much text takes about 50 ms; beyond it the event loop must stay free for others.
_COUNT_INLINE_CHARS = 200_000


def new_session(
    workspace: Workspace,
    created: SessionCreated,
    system: str = "",
    tools: Sequence[ToolDefinition] = (),
    context: Mapping[str, Any] | None = None,
) -> Conversation:
    """Starts a session, with its system prompt, its tools and context settings of its own if it has any."""
    events: list[Event] = [created]
    if context:
        events.append(_configured(context))
    if tools:
        events.append(ToolsDeclared(tools=tuple(tools)))
    conversation = workspace.adopt(workspace.ports.ids.new("s"), events)
    conversation.record(*([_prompted(conversation, system)] if system else []))
    return conversation


def load_session(workspace: Workspace, session_id: str) -> Conversation:
    """Opens a session and publishes how full it is."""
    conversation = workspace.open(session_id)
    publish_usage(conversation)
    return conversation


async def append(
    conversation: Conversation, messages: Sequence[Message], usage: Usage | None, made: Set[str] = frozenset()
) -> tuple[str, ...]:
    """Adds messages, and the provider's usage of the request whose answer is the last assistant message among them (or,
    without one, of the session). Returns the messages' ids. A message that is there already with the same content is
    passed over, so a client that missed the result may send again. Raises `InvalidRequest` for an id with other
    content. Messages whose ids are in `made` are not looked up: the ids were just made, so no message has them yet.

    Appends of one session are taken in the order they came in, also while a large one is counted in a thread.
    """
    async with conversation.work.appending():
        new = [message for message in messages if message.id in made or _is_new(conversation, message)]
        events = await _counted(conversation, [MessageAppended(message=message) for message in new])
        if not conversation.transcript.title:
            events += _titled(messages)
        if usage is not None:
            events.append(UsageReported(usage=usage, message_id=_answer_id(conversation, messages)))
        conversation.record(*events)
        if usage is not None:
            conversation.keep_calibration()
    return tuple(message.id for message in messages)


def change_system_prompt(conversation: Conversation, text: str) -> None:
    """Changes what the model is told first, from here on. What it was told before stays in the transcript."""
    ids, now = conversation.workspace.ports.ids, conversation.workspace.ports.clock.now()
    old = [item.message for item in conversation.transcript.items if item.message.role is Role.SYSTEM]
    if not old:
        conversation.record(_prompted(conversation, text))
        return
    replacements = tuple(_rewritten(old, text))
    rewrite = RewriteEdit(id=ids.new("e"), timestamp=now, trigger=EditTrigger.MANUAL, replacements=replacements)
    conversation.record(ContextEdited(edit=rewrite))


def change_model(conversation: Conversation, model: str) -> None:
    """Goes on with another model: other window, other counts."""
    conversation.record(ModelChanged(model=model))


def configure_session(conversation: Conversation, context: Mapping[str, Any]) -> None:
    """Gives a session context settings of its own, in place of those it had. Raises `InvalidRequest`."""
    conversation.record(_configured(context))


def declare_tools(conversation: Conversation, tools: Sequence[ToolDefinition]) -> None:
    """Replaces the tools that are offered to the model."""
    conversation.record(ToolsDeclared(tools=tuple(tools)))


def fork_session(workspace: Workspace, parent: Conversation, message_id: str | None, title: str) -> Conversation:
    """A new session that shares the past up to a message (or all of it), archived or not, a marker or notice.

    It inherits the edits and settings in force there, and of the present pins those of messages that it has. Raises
    `MessageNotFound`.
    """
    position = parent.transcript.position
    if message_id is not None:
        position = position_of(workspace.ports.store, parent.id, Checkpoint(message_id=message_id))
    event = SessionForked(
        parent_id=parent.id, position=position, title=title or f"{parent.transcript.title} (fork)".strip()
    )
    fork = workspace.fork(position, workspace.ports.ids.new("s"), event)
    fork.record(*_pins(fork, parent.transcript.pinned))
    return fork


async def import_transcript(workspace: Workspace, transcript: ImportedTranscript, cwd: str) -> Conversation:
    """A new session with a foreign transcript's events; what it compacted itself is archived here too."""
    created = SessionCreated(
        cwd=cwd or transcript.cwd, model=transcript.model, title=transcript.title or _title_of(transcript.events)
    )
    conversation = workspace.adopt(workspace.ports.ids.new("s"), [created])
    with conversation.one_change():
        conversation.record(*await _counted(conversation, transcript.events))
        conversation.keep_calibration()
        conversation.keep_snapshot()
    return conversation


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


def _prompted(conversation: Conversation, text: str) -> MessageAppended:
    """A first system prompt."""
    ports = conversation.workspace.ports
    content = (TextBlock(text=text),)
    prompt = Message(id=ports.ids.new("m"), role=Role.SYSTEM, content=content, timestamp=ports.clock.now())
    return MessageAppended(message=prompt, count=conversation.projection.count(prompt))


def _is_new(conversation: Conversation, message: Message) -> bool:
    found = conversation.workspace.ports.store.find_message(conversation.id, message.id)
    if found is None or not isinstance(found.event, MessageAppended):
        return True
    known = found.event.message
    if (known.role, known.content) != (message.role, message.content):
        raise InvalidRequest(
            f"message id {message.id!r} is taken by another message of this session; leave ids out to have them made"
        )
    return False


async def _counted(conversation: Conversation, events: Sequence[Event]) -> list[Event]:
    """The events with their messages' counts, made in a thread if there is much to count."""
    chars = sum(text_length(event.message) for event in events if isinstance(event, MessageAppended))
    if chars > _COUNT_INLINE_CHARS:
        return await asyncio.to_thread(_with_counts, conversation.projection, events)
    return _with_counts(conversation.projection, events)


def _with_counts(projection: Projection, events: Sequence[Event]) -> list[Event]:
    return [
        replace(event, count=projection.count(event.message)) if isinstance(event, MessageAppended) else event
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


def _answer_id(conversation: Conversation, messages: Sequence[Message]) -> str:
    """The message a usage report belongs to."""
    for message in reversed(messages):
        if message.role is Role.ASSISTANT:
            return message.id
    for item in reversed(conversation.transcript.items):
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


def _pins(fork: Conversation, pinned: Set[str]) -> Iterator[MessagePinned]:
    """The changes that give a fork its parent's present pins: a message is mostly pinned later than it is written."""
    own, known = fork.transcript.pinned, fork.projection.counts
    for message_id in sorted(message_id for message_id in pinned - own if message_id in known):
        yield MessagePinned(message_id=message_id)
    for message_id in sorted(own - pinned):
        yield MessagePinned(message_id=message_id, pinned=False)
