"""Keeps a conversation equal to a list of messages that a framework holds, and gives back the list to send.

A framework hands over its list before each request. New messages at its end are appended; where the framework has gone
back, or has taken messages away, they are left out of the context. The list may be the whole conversation, or what the
last call gave back and the messages since then.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence, Set
from weakref import WeakKeyDictionary

from ullage.app.telemetry import compacting, measured
from ullage.embed.adapters.framework_messages import Given, Shown, leave_out, show, to_message
from ullage.formats.provider import Provider, write_messages
from ullage.formats.provider_usage import convert_usage
from ullage.model.edits import CompactionEdit, DropEdit, Edit, RewindEdit
from ullage.model.events import ContextEdited, EditReverted, Event, MessageAppended
from ullage.model.message import Message, Role
from ullage.model.usage import Usage
from ullage.service import sessions
from ullage.service.archive import undo
from ullage.service.compact.automatic import shrink, warn_if_due
from ullage.service.compact.room import require_fit
from ullage.service.conversation.checkpoints import Checkpoint
from ullage.service.conversation.conversation import Conversation
from ullage.service.summaries.write import read_ahead

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
            sessions.Appended(
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
        in_force: dict[str, Edit] = {}
        edits: dict[str, Edit] = {}
        for record in store.read_edits(conversation.id):
            match record.event:
                case ContextEdited(edit=edit):
                    edits[edit.id] = in_force[edit.id] = edit
                case EditReverted(edit_id=edit_id, reverted=True):
                    in_force.pop(edit_id, None)
                case EditReverted(edit_id=edit_id):
                    in_force[edit_id] = edits[edit_id]
                case _:
                    pass
        self._left_out = {one for edit in in_force.values() if isinstance(edit, RewindEdit) for one in edit.message_ids}
        self.inserted = {id_of_inserted(message) for edit in edits.values() for message in _inserted(edit)}
        self._position = transcript.position

    def present(self) -> Iterator[tuple[int, str]]:
        """Yields the place and id of each message that was not left out."""
        return ((place, one) for place, one in enumerate(self.all) if one not in self._left_out)

    def same(self, given: Sequence[Given]) -> set[str]:
        """Returns the framework's ids of the messages known before: of system prompts wherever they are, of others up
        to the first that is new."""
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
        """Returns whether the framework no longer has the message at this place. `last` is the last place that it
        has."""
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
    """Returns the messages to send in the framework's order: a system prompt that was exchanged is the last of the log,
    and comes first."""
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
