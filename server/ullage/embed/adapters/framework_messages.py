"""A framework's messages in a conversation: each is stored with what the engine reads of it, and leaves unchanged.

The engine counts, pairs, searches and summarizes what it reads of a message. What the framework gets back is the
framework's own JSON, as long as no edit has changed the message.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import to_json
from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.model.blocks import Block, Provided, TextBlock
from ullage.model.edits import EditTrigger, RewindEdit
from ullage.model.errors import InvalidRequest
from ullage.model.events import ContextEdited
from ullage.model.json_values import JsonObject, as_list, as_object
from ullage.model.message import Message, Role
from ullage.service.conversation.conversation import Conversation

# 80 bits: two different messages of a session do not get the same id.
_ID_DIGITS = 20


class Given(Struct, frozen=True, kw_only=True):
    """One message of a framework.

    - `id`: names the message for as long as the conversation lasts.
    - `raw`: the message as the framework's own JSON.
    - `read`: the message in the format of `provider`, for the engine; `raw` itself where a framework uses that format;
      empty for what the model is not sent.
    - `usage`: the provider's usage of the request that the message answers, in the provider's form, or None.
    """

    id: str
    raw: JsonObject
    read: Sequence[JsonObject]
    provider: Provider = Provider.OPENAI
    usage: JsonObject | None = None


class Shown(Struct, frozen=True, kw_only=True):
    """One message to send.

    - `raw`: the framework's JSON of the message, or None for a summary or a notice.
    - `changed`: the message in the format of `provider`, if it has no `raw` or an edit has changed it; else empty.
    """

    id: str
    role: Role
    raw: JsonObject | None
    changed: Sequence[JsonObject] = ()


def to_message(given: Given, framework: str, message_id: str, now: int) -> Message:
    """Returns a framework's message as one of the engine's. What the engine cannot read is counted and searched as its
    JSON."""
    try:
        read = read_messages(given.provider, given.read)
    except InvalidRequest:
        read = ()
    role = read[0].role if read else Role.ASSISTANT
    content: tuple[Block, ...] = tuple(block for message in read for block in message.content)
    return Message(
        id=message_id,
        role=role,
        content=content or (() if not given.read else (TextBlock(text=to_json(given.raw)),)),
        timestamp=now,
        provided=Provided(format=framework, fields=given.raw, whole=True),
    )


def show(conversation: Conversation, framework: str, provider: Provider) -> Iterator[Shown]:
    """Yields the messages to send."""
    for message in conversation.transcript.view:
        own = message.provided
        raw = own.fields if own is not None and own.format == framework else None
        if own is not None and own.whole and raw is not None:
            yield Shown(id=message.id, role=message.role, raw=raw)
            continue
        # Where the framework's own form is the provider's, only what the edit has changed differs from it.
        given = None if own is None else replace(own, format=provider.value)
        written = write_messages(provider, replace(message, provided=given))
        # Of what the framework gave, an edit may have left nothing.
        if written or own is None:
            yield Shown(id=message.id, role=message.role, raw=raw, changed=written)


def leave_out(conversation: Conversation, message_ids: Iterable[str]) -> tuple[ContextEdited, ...]:
    """Returns the edit, to be recorded, that leaves messages out of the context, because the framework has taken them
    away. They stay in the transcript. Without messages there is none."""
    left_out = tuple(message_ids)
    if not left_out:
        return ()
    ports = conversation.workspace.ports
    edit = RewindEdit(
        id=ports.ids.new("e"),
        timestamp=ports.clock.now(),
        trigger=EditTrigger.MANUAL,
        context_size_before=conversation.used,
        message_ids=left_out,
    )
    return (ContextEdited(edit=edit),)


def text_of(written: Sequence[JsonObject]) -> str:
    """Returns the text of a message in the format of Chat Completions."""
    return "\n".join(text for message in written for text in _texts(message.get("content")))


def digest(value: Any) -> str:
    """Returns an id for a message of a framework that gives none."""
    return sha256(to_json(value).encode()).hexdigest()[:_ID_DIGITS]


def as_json(value: Any) -> Any:
    """Returns a value as plain JSON values. What JSON has no form for becomes text."""
    return msgspec.to_builtins(value, enc_hook=str)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in as_list(content):
        text = as_object(part).get("text")
        if isinstance(text, str):
            yield text


def raw_of(message: Message, framework: str) -> JsonObject | None:
    """Returns the framework's own JSON of a message, or None if an edit has changed the message or made it."""
    own = message.provided
    return own.fields if own is not None and own.whole and own.format == framework else None
