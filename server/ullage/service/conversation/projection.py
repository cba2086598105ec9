"""The projection of a session's log: the folded transcript, the counts of its messages, and the size of the context."""

from collections.abc import Callable, Sequence
from math import ceil

from msgspec import Struct

from ullage.edits.counted import CountedView
from ullage.memory.tool import NAME
from ullage.model.blocks import ToolUseBlock
from ullage.model.edits import ClearToolUsesEdit, CompactionEdit, Edit
from ullage.model.events import (
    ContextEdited,
    ContextWarned,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SummaryReported,
    ToolsDeclared,
    UsageReported,
)
from ullage.model.json_values import decode_json, encode_json
from ullage.model.message import Message
from ullage.model.price import Bill
from ullage.model.usage import Breakdown, MessageCount, Usage
from ullage.policy.alarm import Alarm, lowered
from ullage.service.ports.store import StoredSession
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import TokenCounter
from ullage.tokens.tracker import ContextTracker, TrackerState
from ullage.transcript.fold import Transcript, TranscriptState
from ullage.transcript.view import Item, touched_ids


class ProjectionState(Struct, frozen=True, kw_only=True):
    """A projection as a snapshot stores it. `counts` are those of the token counter named `counter`."""

    transcript: TranscriptState
    tracker: TrackerState
    counter: str
    counts: dict[str, Breakdown]
    tool_uses: int = 0
    alarm: Alarm = Alarm()
    # A snapshot written before prices were recorded has no bill. None means that the cost is unknown.
    bill: Bill = Bill(amount=None)


class Projection:
    """The state that follows from a session's log. `apply` folds new records into it.

    `tool_uses`: tool calls since the last clearing or compaction. `bill`: what the session's requests have cost.
    `cost(model, usage)` returns the price of one usage in dollars, or None if the price is unknown.
    """

    def __init__(
        self,
        counter: TokenCounter,
        calibration: Calibration,
        cost: Callable[[str, Usage], float | None] = lambda _model, _usage: None,
    ) -> None:
        self.counter = counter
        self.transcript = Transcript()
        self.tracker = ContextTracker(calibration, Calibration.prior(counter.error_share))
        self.counts: dict[str, Breakdown] = {}
        self.alarm = Alarm()
        self.tool_uses = 0
        self.bill = Bill()
        self._cost = cost
        self._memory_uses: set[str] = set()
        # Ids of edits whose state at this log position differs from their final state. While the set is not empty,
        # usages describe another context, so they are only added to the totals.
        self._unsettled: set[str] = set()

    @property
    def used(self) -> int:
        """Tokens in the context now. See `Conversation.used`."""
        return self.tracker.reading.used

    def restore(self, stored: StoredSession) -> None:
        """Folds a stored session: its snapshot, if there is one, and the records after the snapshot.

        The saved calibration has already learned from the usages in this log. While the log is folded again, they
        update only the session's own figures.
        """
        kept = self.tracker.calibration
        prior = Calibration.prior(self.counter.error_share)
        self.tracker = ContextTracker(prior, prior)
        if stored.snapshot is not None:
            state = decode_json(stored.snapshot, ProjectionState)
            self.transcript = Transcript(state.transcript)
            self.tracker = ContextTracker.restore(state.tracker)
            self.tool_uses = state.tool_uses
            self.bill = state.bill
            if state.counter == self.counter.name:
                self.counts = state.counts
            else:
                self.recount()
            self.alarm = state.alarm
            for message in self.transcript.view:
                self._note_memory_uses(message)
        self.transcript.expect_reverts(stored.records)
        self._fold(stored.records)
        self.tracker.trust(kept)
        self._rearm()

    def snapshot(self) -> bytes:
        """Returns the state as bytes that `restore` can read."""
        return encode_json(
            ProjectionState(
                transcript=self.transcript.state,
                tracker=self.tracker.state,
                counter=self.counter.name,
                counts=self.counts,
                tool_uses=self.tool_uses,
                alarm=self.alarm,
                bill=self.bill,
            )
        )

    def apply(self, records: Sequence[Record]) -> None:
        """Folds records of the log, in order."""
        self._fold(records)
        self._rearm()

    def _rearm(self) -> None:
        """Lets the next crossing of the threshold warn again if `used` has fallen far enough. Does nothing if no
        warning was given."""
        if self.alarm.again_below is not None:
            self.alarm = lowered(self.alarm, self.used)

    def _fold(self, records: Sequence[Record]) -> None:
        for record in records:
            self.transcript.apply(record)
            self._take(record.event, record.timestamp)

    def use_counter(self, counter: TokenCounter, calibration: Calibration) -> None:
        """Changes the token counter, because the model has changed, and counts everything again."""
        self.counter = counter
        self.tracker.recalibrate(calibration, Calibration.prior(counter.error_share))
        self.recount()

    def recount(self) -> None:
        """Counts the whole view again."""
        self.counts = {message.id: self._break_down(message) for message in self.transcript.view}
        self.tracker.declare_tools(self.counter.count_tools(self.transcript.tools))
        self._recount_tracker()

    def count(self, message: Message) -> MessageCount:
        """Returns a message's count, to be stored with the message."""
        return MessageCount(counter=self.counter.name, parts=self._break_down(message))

    def counted_view(self) -> CountedView:
        """Returns the view with calibrated counts, for planning an edit.

        Its `used` is the figure that the tracker will give after an edit, before any usage is reported. Counts are
        rounded up, so that a plan that fits on paper does fit.
        """
        items = tuple(self.transcript.items)
        scale = self.tracker.calibration.scale
        return CountedView(
            items=items,
            tokens=self.tokens_of(items),
            fixed=self.tracker.overhead + ceil(scale(self.counter.count_tools(self.transcript.tools))),
            measure=lambda message: ceil(scale(self.counter.count_message(message))),
        )

    def tokens_of(self, items: Sequence[Item]) -> list[int]:
        """Returns the calibrated counts of items of the view, rounded up."""
        scale = self.tracker.calibration.scale
        return [ceil(scale(self.counts[item.message.id].total)) for item in items]

    def _break_down(self, message: Message) -> Breakdown:
        """Returns a message's count by parts. Messages must be passed in order: a result of the memory tool is
        recognized by the call before it."""
        self._note_memory_uses(message)
        return self.counter.break_down(message, self._memory_uses)

    def _note_memory_uses(self, message: Message) -> None:
        uses = (block for block in message.content if isinstance(block, ToolUseBlock))
        self._memory_uses.update(use.id for use in uses if use.name == NAME)

    def _take(self, event: Event, timestamp: int) -> None:  # noqa: C901, PLR0912
        match event:
            case MessageAppended(message=message, count=count):
                self._append(message, count)
            case ModelChanged():
                # Usages reported so far are those of another model.
                self.tracker.recalibrate(self.tracker.calibration, Calibration.prior(self.counter.error_share))
            case ToolsDeclared(tools=tools):
                self.tracker.declare_tools(self.counter.count_tools(tools))
            case ContextWarned(used=used, again_below=again_below):
                self.alarm = Alarm(used=used, again_below=again_below)
            case UsageReported(usage=usage, message_id=message_id):
                if self._unsettled:
                    self.tracker.spend(usage)
                else:
                    self.tracker.report(usage, message_id, timestamp)
                self.bill = self.bill.charge(message_id, self._cost(self.transcript.model, usage))
            case SummaryReported(usage=usage, model=model):
                self.tracker.spend(usage)
                self.bill = self.bill.add(self._cost(model, usage))
            case ContextEdited(edit=edit) if self.transcript.is_reverted(edit.id):
                self._unsettled.add(edit.id)
            case ContextEdited(edit=edit):
                self._recount_edited(edit)
            case EditReverted(edit_id=edit_id, reverted=reverted):
                if reverted == self.transcript.is_reverted(edit_id):
                    self._unsettled.discard(edit_id)
                else:
                    self._unsettled.add(edit_id)
            case _:
                pass

    def _append(self, message: Message, count: MessageCount | None) -> None:
        known = count is not None and count.counter == self.counter.name
        parts = count.parts if count is not None and known else self._break_down(message)
        self._note_memory_uses(message)
        self.counts[message.id] = parts
        self.tool_uses += sum(isinstance(block, ToolUseBlock) for block in message.content)
        self.tracker.append(message.id, message.role, parts)

    def _recount_edited(self, edit: Edit) -> None:
        # The figures are provisional while a log is folded, so the edit's own `tokens_saved` is used.
        self.alarm = lowered(self.alarm, self.alarm.used - edit.tokens_saved)
        if isinstance(edit, ClearToolUsesEdit | CompactionEdit):
            self.tool_uses = 0
        touched = touched_ids(edit)
        self.counts = {
            message.id: self._break_down(message) if message.id in touched else self.counts[message.id]
            for message in self.transcript.view
        }
        self._recount_tracker()

    def _recount_tracker(self) -> None:
        self.tracker.edited((message.id, message.role, self.counts[message.id]) for message in self.transcript.view)
