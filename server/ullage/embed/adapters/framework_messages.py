"""A framework's messages in a conversation: each is stored with what the engine reads of it, and leaves unchanged. A
`Mirror` keeps a conversation equal to a list that a framework holds.

The engine counts, pairs, searches and summarizes what it reads of a message. What the framework gets back is the
framework's own JSON, as long as no edit has changed the message.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.app.telemetry import compacting, measured
from ullage.formats.parsing import convert_usage, to_json
from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.model.errors import InvalidRequest
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    DropEdit,
    Edit,
    EditTrigger,
    Event,
    MessageAppended,
    RewindEdit,
)
from ullage.model.json_values import JsonObject, as_list, as_object
from ullage.model.message import Block, Message, Provided, Role, TextBlock
from ullage.model.usage import Usage
from ullage.service import sessions
from ullage.service.archive import undo
from ullage.service.compact.automatic import require_fit, shrink, warn_if_due
from ullage.service.conversation.conversation import Checkpoint, Conversation, edits_in_force
from ullage.service.summaries.write import read_ahead

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
    """Returns a framework's message as the engine's. What the engine cannot read is counted as its JSON."""
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


def chat_call(call_id: Any, name: Any, arguments: Any) -> JsonObject:
    """Returns a tool call as one of Chat Completions. `arguments` are their text, or a value that becomes JSON."""
    text = arguments if isinstance(arguments, str) else to_json(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def chat_usage(prompt: Any, answer: Any, cached: Any) -> JsonObject:
    """Returns a usage, in tokens, as that of Chat Completions."""
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": answer, "prompt_tokens_details": details}


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


# Between a message's id and a number: a message that was left out may come again, and an id is unique in its session.
_AGAIN = "~"


def own_id(shown: Shown) -> str:
    """Returns the id that a message given back has when the framework hands it over again, if it keeps ids."""
    return _base(shown.id)


class Mirror:
    """The conversations of one framework.

    `framework` names its form of messages in the store. `provider` is the format in which summaries and changed
    messages are given back. `id_of` returns the id with which a message that is given back comes again.
    """

    def __init__(
        self, framework: str, provider: Provider = Provider.OPENAI, id_of: Callable[[Shown], str] = own_id
    ) -> None:
        self._framework = framework
        self._provider = provider
        self._id_of = id_of
        # An entry lives as long as its conversation is in memory.
        self._known: WeakKeyDictionary[Conversation, _Known] = WeakKeyDictionary()

    async def fit(self, given: Sequence[Given], conversation: Conversation) -> tuple[Shown, ...]:
        """Takes over a framework's list of messages, makes room if that is due, and returns the messages to send.
        Raises `CannotFit` if what must stay exceeds the window."""
        known = self._known.setdefault(conversation, _Known())
        async with known.lock:
            known.read_on(conversation, self._id_of_inserted)
            await self._take_over(conversation, known, given)
            with compacting(conversation, "automatic"):
                await shrink(conversation)
            # In the time until the framework's next request.
            read_ahead(conversation)
            shown = _in_order(tuple(show(conversation, self._framework, self._provider)), given)
            known.held = {one.id for one in given} & {self._id_of(one) for one in shown}
            require_fit(conversation)
        return shown

    async def _take_over(self, conversation: Conversation, known: "_Known", given: Sequence[Given]) -> None:
        if not known.all:
            await self._continue(conversation, given)
            known.read_on(conversation, self._id_of_inserted)
        own = [one for one in given if one.id not in known.inserted]
        same = known.same(own)
        first = self._left_out(conversation, known, same, has_summary=len(own) < len(given))
        new = [one for one in own if one.id not in same]
        now = conversation.workspace.ports.clock.now()
        parts = [
            sessions.MessagesWithUsage(
                messages=[to_message(one, self._framework, known.new_id(one.id), now) for one in batch], usage=usage
            )
            for batch, usage in _by_usage(new)
        ]
        if parts or first:
            await sessions.append_all(conversation, parts, first=first)
        for part in parts:
            measured(conversation, part.usage)
        if new:
            warn_if_due(conversation)

    async def _continue(self, conversation: Conversation, given: Sequence[Given]) -> None:
        """Begins a conversation with the summary that an earlier one left in the framework's list, if it has one."""
        now = conversation.workspace.ports.clock.now()
        await sessions.append_compacted(conversation, [to_message(one, self._framework, one.id, now) for one in given])

    def _left_out(
        self, conversation: Conversation, known: "_Known", same: Set[str], *, has_summary: bool
    ) -> tuple[Event, ...]:
        """Returns the events that leave out what the framework no longer has. `same` are the ids that it has, of
        messages known before. With `has_summary` it has what an earlier call gave back, so that archived messages are
        not missed."""
        view = {message.id for message in conversation.transcript.view}
        last = max((known.place[one] for one in same if one not in known.prompts), default=-1)
        gone = [
            message_id
            for place, message_id in known.present()
            if known.is_gone(place, same, last) and (message_id in view or not has_summary)
        ]
        back: tuple[Event, ...] = ()
        if any(message_id not in view for message_id in gone):
            # The framework went back to before an edit that archived messages. Without it they come back, and go.
            back = undo.restoring(conversation, Checkpoint(message_id=known.all[max(0, last)]))
        return *back, *leave_out(conversation.imagine(*back) if back else conversation, gone)

    def _id_of_inserted(self, message: Message) -> str:
        written = write_messages(self._provider, message)
        return self._id_of(Shown(id=message.id, role=message.role, raw=None, changed=written))


class _Known:
    """What is known of a conversation: the ids of its messages in their order (`all`), and by a framework's id the
    place of the newest with it (`place`); which are system prompts (`prompts`); which ids summaries and notices have
    (`inserted`); what the framework had after the last call (`held`). Archived messages are included, those that were
    left out are not present."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.all: list[str] = []
        self.place: dict[str, int] = {}
        self.prompts: set[str] = set()
        self.inserted: set[str] = set()
        self.held: Set[str] = frozenset()
        self._left_out: set[str] = set()
        self._position = -1

    def read_on(self, conversation: Conversation, id_of_inserted: Callable[[Message], str]) -> None:
        """Takes in what was recorded since the last call."""
        transcript, store = conversation.transcript, conversation.workspace.ports.store
        if transcript.position == self._position:
            return
        for record in store.read_messages(conversation.id, len(self.all), transcript.messages):
            if isinstance(record.event, MessageAppended):
                self._add(record.event.message)
        records = store.read_edits(conversation.id)
        edits = {
            record.event.edit.id: record.event.edit for record in records if isinstance(record.event, ContextEdited)
        }
        in_force = [edits[edit_id] for edit_id in edits_in_force(records)]
        self._left_out = {one for edit in in_force if isinstance(edit, RewindEdit) for one in edit.message_ids}
        self.inserted = {id_of_inserted(message) for edit in edits.values() for message in _inserted(edit)}
        self._position = transcript.position

    def present(self) -> Iterator[tuple[int, str]]:
        """Yields the place and id of each message that was not left out."""
        return ((place, one) for place, one in enumerate(self.all) if one not in self._left_out)

    def same(self, given: Sequence[Given]) -> set[str]:
        """Returns the framework's ids of known messages: system prompts anywhere, others up to the first new one."""
        same: set[str] = set()
        is_new = False
        for one in given:
            is_known = one.id in self.place and self.all[self.place[one.id]] not in self._left_out
            is_prompt = one.id in self.prompts
            if is_known and (is_prompt or not is_new):
                same.add(one.id)
            elif not _is_prompt(one):
                is_new = True
        return same

    def is_gone(self, place: int, same: Set[str], last: int) -> bool:
        """Returns whether the framework no longer has the message at this place. `last` is its last place."""
        one = _base(self.all[place])
        if one in same:
            return self.place[one] != place
        if one in self.prompts:
            return one in self.held or not same.isdisjoint(self.prompts)
        return place > last or one in self.held

    def new_id(self, framework_id: str) -> str:
        """Returns an id for a message that is appended now."""
        again = sum(_base(one) == framework_id for one in self.all) if framework_id in self.place else 0
        return f"{framework_id}{_AGAIN}{again}" if again else framework_id

    def _add(self, message: Message) -> None:
        one = _base(message.id)
        self.place[one] = len(self.all)
        self.all.append(message.id)
        if message.role is Role.SYSTEM:
            self.prompts.add(one)


def _by_usage(new: Sequence[Given]) -> Iterator[tuple[Sequence[Given], Usage | None]]:
    """Yields the messages up to the newest reported usage, with it, then the others."""
    reported = max((at for at, one in enumerate(new) if one.usage is not None), default=-1)
    if reported >= 0:
        usage = new[reported].usage
        yield new[: reported + 1], None if usage is None else convert_usage(usage)
    if new[reported + 1 :]:
        yield new[reported + 1 :], None


def _in_order(shown: tuple[Shown, ...], given: Sequence[Given]) -> tuple[Shown, ...]:
    """Returns the messages in the framework's order: an exchanged system prompt, last in the log, comes first."""
    places = {one.id: place for place, one in enumerate(given)}
    order = [places[one] for one in map(own_id, shown) if one in places]
    if order == sorted(order):
        return shown
    return tuple(sorted(shown, key=lambda one: one.role is not Role.SYSTEM))


def _inserted(edit: Edit) -> tuple[Message, ...]:
    match edit:
        case CompactionEdit(marker=message) | DropEdit(notice=message):
            return (message,)
        case _:
            return ()


def _is_prompt(given: Given) -> bool:
    return bool(given.read) and given.read[0].get("role") in ("system", "developer")


def _base(message_id: str) -> str:
    return message_id.partition(_AGAIN)[0]
