"""Operations on whole sessions: create, load, append, configure, fork, import, delete."""

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
# Characters. Counting this much text takes about 50 ms; longer text is counted in a thread, so that the event loop
# stays free.
_COUNT_INLINE_CHARS = 200_000


def new_session(
    workspace: Workspace,
    created: SessionCreated,
    system: str = "",
    tools: Sequence[ToolDefinition] = (),
    context: Mapping[str, Any] | None = None,
) -> Conversation:
    """Creates a session with its system prompt, tools and own context settings, if given. Raises `InvalidRequest` if
    `context` is not valid."""
    events: list[Event] = [created]
    if context:
        events.append(_configured(context))
    if tools:
        events.append(ToolsDeclared(tools=tuple(tools)))
    conversation = workspace.adopt(workspace.ports.ids.new("s"), events)
    conversation.record(*([_prompted(conversation, system)] if system else []))
    return conversation


def load_session(workspace: Workspace, session_id: str) -> Conversation:
    """Opens a session and publishes its usage. Raises `SessionNotFound`."""
    conversation = workspace.open(session_id)
    publish_usage(conversation)
    return conversation


async def append(
    conversation: Conversation, messages: Sequence[Message], usage: Usage | None, made: Set[str] = frozenset()
) -> tuple[str, ...]:
    """Appends messages, and the provider's usage of the request that produced the last assistant message. Returns the
    messages' ids. `made` holds the ids that `Ids` has just made; the log has no message with such an id, so none is
    looked up.

    The usage belongs to the last assistant message among `messages`, or else to the last one of the session. A message
    that is already in the log with the same content is skipped, so a client that missed the result may send again.
    Raises `InvalidRequest` for a known id with other content, and for a usage without any assistant message. Appends of
    one session run in the order of the calls, also while a large message is counted in a thread.
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
    """Changes the system prompt from here on. The old prompt stays in the transcript."""
    ids, now = conversation.workspace.ports.ids, conversation.workspace.ports.clock.now()
    old = [item.message for item in conversation.transcript.items if item.message.role is Role.SYSTEM]
    if not old:
        conversation.record(_prompted(conversation, text))
        return
    replacements = tuple(_rewritten(old, text))
    rewrite = RewriteEdit(id=ids.new("e"), timestamp=now, trigger=EditTrigger.MANUAL, replacements=replacements)
    conversation.record(ContextEdited(edit=rewrite))


def change_model(conversation: Conversation, model: str) -> None:
    """Changes the session's model, and so its window and its token counter."""
    conversation.record(ModelChanged(model=model))


def configure_session(conversation: Conversation, context: Mapping[str, Any]) -> None:
    """Replaces the session's own context settings. Raises `InvalidRequest`."""
    conversation.record(_configured(context))


def declare_tools(conversation: Conversation, tools: Sequence[ToolDefinition]) -> None:
    """Replaces the tools that are offered to the model."""
    conversation.record(ToolsDeclared(tools=tuple(tools)))


def fork_session(workspace: Workspace, parent: Conversation, message_id: str | None, title: str) -> Conversation:
    """Creates a session that shares its parent's log up to a message, or all of it. `message_id` may name an archived
    message, a marker or a notice.

    The fork inherits the edits and settings in force at that place, and those of the parent's present pins whose
    messages it has. Raises `MessageNotFound`.
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
    """Creates a session with the events of another program's transcript. Messages that the program itself compacted
    are archived here, too."""
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
    """Deletes a session: ends its work, removes it from memory and from the list. Returns its last entry of the
    list. Raises `SessionNotFound`."""
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
    """Yields replacements that put the text into the first block and empty all other blocks."""
    blocks = [(message.id, block) for message in old for block in range(len(message.content))]
    for number, (message_id, block) in enumerate(blocks):
        yield Replacement(message_id=message_id, block=block, text="" if number else text)


def _prompted(conversation: Conversation, text: str) -> MessageAppended:
    """Returns the event that appends a first system prompt."""
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
    """Returns the events with their messages counted. Long messages are counted in a thread."""
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
    """Returns the number of characters in a message's texts and tool results."""
    return sum(
        len(part.text or "")
        for block in message.content
        for part in (block.content if isinstance(block, ToolResultBlock) else (block,))
        if isinstance(part, TextBlock | ResourceBlock)
    )


def _answer_id(conversation: Conversation, messages: Sequence[Message]) -> str:
    """Returns the id of the message that a usage belongs to. Raises `InvalidRequest` if there is no assistant
    message."""
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
    """Returns the first line of the user's first prompt, shortened, or an empty text."""
    for event in events:
        if isinstance(event, MessageAppended) and is_prompt(event.message):
            line = next((line.strip() for line in event.message.text.splitlines() if line.strip()), "")
            if line:
                return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"
    return ""


def _pins(fork: Conversation, pinned: Set[str]) -> Iterator[MessagePinned]:
    """Yields the events that give a fork its parent's present pins. Most messages are pinned later than they are
    written, so the pins of the log at the fork are not enough."""
    own, known = fork.transcript.pinned, fork.projection.counts
    for message_id in sorted(message_id for message_id in pinned - own if message_id in known):
        yield MessagePinned(message_id=message_id)
    for message_id in sorted(own - pinned):
        yield MessagePinned(message_id=message_id, pinned=False)
