"""Which context a new session of an agent is to have: all of a conversation, or as it was at an earlier place."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.blocks import join_texts
from ullage.model.edits import CompactionEdit
from ullage.model.errors import InvalidRequest
from ullage.model.events import ContextEdited, EditReverted, Event, MessageAppended, first_messages
from ullage.model.message import Role
from ullage.transcript.cut_points import cut_points

# Tokens of messages in a compacted session, without what the agent adds. A tenth of the smallest usual window, and five
# times what agents' own compactions leave: 2,200 to 4,200 in recorded conversations.
BUDGET = 20_000


class WantedContext(Struct, frozen=True, kw_only=True):
    """What is wanted of a new session.

    - `agent`: the agent that resumes it, as a word such as those of `word_of`; "" for the conversation's own.
    - `before_compaction`: the context as it was before the agent's own last compaction.
    - `from_message`: the context as it was after the message with this number, counted from 1; None for all messages.
    - `compacted`: whether Ullage compacts it. None if it does so for the conversation's own agent, unless one of the
      two above is wanted.
    - `budget`: the most tokens of a compacted context, without what the agent adds.
    - `focus`: what the summary must keep above all.
    """

    agent: str = ""
    before_compaction: bool = False
    from_message: int | None = None
    compacted: bool | None = None
    budget: int = BUDGET
    focus: str = ""

    def is_compacted(self, *, is_own: bool) -> bool:
        """Returns whether Ullage compacts the context. `is_own` says that the conversation's own agent resumes it."""
        if self.compacted is None:
            return is_own and not self.before_compaction and self.from_message is None
        return self.compacted


class ChosenContext(Struct, frozen=True, kw_only=True):
    """The events of which a new session is made. `total` counts the messages of the whole conversation. `notes` are
    sentences about the choice."""

    events: tuple[Event, ...]
    total: int
    notes: tuple[str, ...] = ()


def choose_context(events: Sequence[Event], wanted: WantedContext) -> ChosenContext:
    """Returns the events that lead to the wanted context. Raises `InvalidRequest` if the agent has compacted nothing,
    or if there are fewer messages."""
    total = sum(isinstance(event, MessageAppended) for event in events)
    if wanted.before_compaction:
        return ChosenContext(events=tuple(_before_compaction(events)), total=total)
    number = wanted.from_message
    if number is None:
        return ChosenContext(events=tuple(events), total=total)
    last = _whole_up_to(events, number)
    note = f"It ends with message #{last:,}, because what begins with #{number:,} must stay whole."
    return ChosenContext(
        events=tuple(first_messages(events, last)), total=total, notes=(note,) if last > number else ()
    )


def _before_compaction(events: Sequence[Event]) -> Sequence[Event]:
    """Returns the events before the agent's own last compaction that is in force."""
    reverted = {event.edit_id: event.reverted for event in events if isinstance(event, EditReverted)}
    for at in reversed(range(len(events))):
        event = events[at]
        edit = event.edit if isinstance(event, ContextEdited) else None
        if isinstance(edit, CompactionEdit) and edit.by_agent and not reverted.get(edit.id):
            return events[: _summary_at(events, at, edit)]
    raise InvalidRequest("the agent has compacted nothing that is still compacted, so there is nothing to go back to")


def _summary_at(events: Sequence[Event], at: int, edit: CompactionEdit) -> int:
    """Returns the index of the model's answer with the summary, which some agents record before the compaction at
    `at`. Returns `at` if there is none."""
    marker = edit.marker.compaction
    for before in reversed(range(at)):
        event = events[before]
        if isinstance(event, MessageAppended):
            said = join_texts(event.message.content).strip() if event.message.role is Role.ASSISTANT else ""
            return before if said and marker and marker.summary.strip().endswith(said) else at
    return at


def _whole_up_to(events: Sequence[Event], number: int) -> int:
    """Returns the number of the first message from `number` on after which the conversation may be cut: a tool call
    stays with its result."""
    messages = [event.message for event in events if isinstance(event, MessageAppended)]
    if number > len(messages):
        raise InvalidRequest(f"there is no message #{number:,}; the conversation has {len(messages):,}")
    return next(cut for cut in cut_points(messages) if cut >= number)
