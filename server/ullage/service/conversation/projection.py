"""The projection of a session's log: the folded transcript, the counts of its messages, and the size of the context.

Messages of new events are counted off the event loop if that takes long (`counted`).
"""

import asyncio
from collections.abc import Callable, Sequence
from copy import copy
from math import ceil
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.own_context import Setup
from ullage.edits.counted import CountedView
from ullage.memory.memory_tool import NAME
from ullage.model.events import (
    ClearToolUsesEdit,
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
    ContextWarned,
    Edit,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    PromptListed,
    Record,
    RecordUnread,
    RewindEdit,
    SummaryReported,
    ToolsDeclared,
    UsageReported,
)
from ullage.model.json_values import JsonObject, decode_json, encode_json
from ullage.model.message import ImageBlock, Message, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Bill, Breakdown, HiddenKind, HiddenPart, MessageCount, Usage
from ullage.policy.budget import Alarm, after_update
from ullage.policy.evidence import Compacted, Evidence, ending
from ullage.policy.prompt_cache import CachedPrompt
from ullage.policy.spending import request_cost
from ullage.service.ports.store import StoredSession
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import TokenCounter, get_counter
from ullage.tokens.tracker import ContextTracker, Ending, TrackerState
from ullage.transcript.fold import Transcript, TranscriptState
from ullage.transcript.view import Item, touched_ids


def agent_of(transcript: Transcript) -> Agent | None:
    """Returns the agent that has an imported conversation; None for others, and for an unknown agent."""
    if transcript.origin is None:
        return None
    # The readers of all agents are a tenth of a server's start, and few conversations are imported.
    from ullage.agents.table import agent_of_format  # noqa: PLC0415

    return agent_of_format(transcript.origin.format, transcript.origin.agent)


class ProjectionState(Struct, frozen=True, kw_only=True):
    """The state of a projection in a snapshot. `counts` are the messages' tokens by the counter `counter`."""

    transcript: TranscriptState
    tracker: TrackerState
    counter: str
    counts: dict[str, Breakdown]
    tool_uses: int = 0
    alarm: Alarm = Alarm()
    evidence: Evidence = Evidence()
    cached: CachedPrompt = CachedPrompt()
    listed: tuple[HiddenPart, ...] = ()
    # A snapshot written before prices were recorded has no bill. None means that the cost is unknown.
    bill: Bill = Bill(amount=None)


class Projection:
    """The state that follows from a session's log alone. `apply` folds new records into it.

    `counts`: tokens of the view's messages by id. `evidence`: what the log shows of the window and of growth.
    `cached`: what the provider's cache holds. `listed`: what the agent's log says of its own prompt, in local counts.
    `tool_uses`: tool calls since the last clearing or compaction. `bill`: what the session's requests have cost.
    `others(format)` returns the saved compactions of the agent that writes this transcript format. `cost(model, usage)`
    returns the price of one usage in dollars, or None if the price is unknown. `tokenizer(model)`
    names the counter of a model; models with the same counter have the same tokens.
    """

    def __init__(
        self,
        counter: TokenCounter,
        calibration: Calibration,
        cost: Callable[[str, Usage], float | None] = lambda _model, _usage: None,
        tokenizer: Callable[[str], str] = lambda model: get_counter(model).name,
        others: Callable[[str], tuple[Compacted, ...]] = lambda _format: (),
    ) -> None:
        self._others = others
        self.counter = counter
        self.transcript = Transcript()
        self._tracker = ContextTracker(calibration, Calibration.prior(counter.error_share))
        self._ended: Ending | None = None
        self.counts: dict[str, Breakdown] = {}
        self.alarm = Alarm()
        self.evidence = Evidence()
        self.cached = CachedPrompt()
        self.listed: tuple[HiddenPart, ...] = ()
        self.tool_uses = 0
        self.bill = Bill()
        self._cost = cost
        self._tokenizer = tokenizer
        self._memory_uses: set[str] = set()
        # Ids of edits whose state at this log position differs from their final state. While the set is not empty,
        # usages describe another context, so they are only added to the totals.
        self._unsettled: set[str] = set()

    @property
    def tracker(self) -> ContextTracker:
        """The tracker of the context. Right after an agent's compaction it has what compactions of the agent's other
        conversations have shown until now."""
        if self._tracker.is_compacted:
            carried = self.evidence.compactions[-1].attached if self.evidence.compactions else None
            if (ended := self._ending(carried)) not in (None, self._ended):
                self._ended = ended
                self._tracker.compacted(carried, ended)
        return self._tracker

    @property
    def used(self) -> int:
        """The tokens in the context now."""
        return self.tracker.reading.used

    def restore(self, stored: StoredSession) -> None:
        """Folds a stored session: its snapshot, if there is one, and the records after the snapshot.

        The saved calibration has already learned from the usages in this log, so it is set only after the fold. An
        imported conversation is counted by what its own log teaches: its figure is its file's, whatever else is
        in the store.
        """
        kept = self.tracker.calibration
        prior = Calibration.prior(self.counter.error_share)
        self._tracker = ContextTracker(prior, prior)
        if stored.snapshot is not None:
            state = decode_json(stored.snapshot, ProjectionState)
            self.transcript = Transcript(state.transcript)
            self._tracker = ContextTracker.restore(state.tracker)
            self.tool_uses = state.tool_uses
            self.bill = state.bill
            self.evidence = state.evidence
            self.cached = state.cached
            self.listed = state.listed
            if state.counter == self.counter.name:
                self.counts = state.counts
            else:
                self.recount()
            self.alarm = state.alarm
            for message in self.transcript.view:
                self._note_memory_uses(message)
        self.transcript.expect_reverts(stored.records)
        self._fold(stored.records)
        if self.transcript.origin is None:
            self.tracker.trust(kept)
        self._rearm()

    def copied(self) -> "Projection":
        """Returns a copy, which can be folded further while this projection stays as it is."""
        copied = copy(self)
        copied.transcript = self.transcript.copied()
        copied._tracker = ContextTracker.restore(self.tracker.state)
        copied.counts = dict(self.counts)
        copied._memory_uses = set(self._memory_uses)
        copied._unsettled = set(self._unsettled)
        return copied

    def snapshot(self) -> bytes:
        """Returns the state as bytes that `restore` can read as a session's snapshot."""
        return encode_json(
            ProjectionState(
                transcript=self.transcript.state,
                tracker=self.tracker.state,
                counter=self.counter.name,
                counts=self.counts,
                tool_uses=self.tool_uses,
                alarm=self.alarm,
                bill=self.bill,
                evidence=self.evidence,
                cached=self.cached,
                listed=self.listed,
            )
        )

    def apply(self, records: Sequence[Record]) -> None:
        """Folds the next records of the log, in order."""
        self._fold(records)
        self._rearm()

    def _rearm(self) -> None:
        """Resets the alarm if `used` has fallen far enough since the warning."""
        if self.alarm.again_below is not None:
            self.alarm = after_update(self.alarm, self.used)

    def _fold(self, records: Sequence[Record]) -> None:
        for record in records:
            event = record.event
            if isinstance(event, MessageAppended):
                # Most events are messages, and these are no evidence of anything.
                self.transcript.apply(record)
                self._append(event.message, event.count)
                continue
            if isinstance(event, ModelChanged):
                # The last usage stays the basis if the tokenizer is the same.
                if self._tokenizer(event.model) == self._tokenizer(self.transcript.model):
                    self.tracker.change_model()
                else:
                    self.tracker.recalibrate(self.tracker.calibration, Calibration.prior(self.counter.error_share))
            by_agent = isinstance(event, ContextEdited) and self._is_by_agent(event.edit)
            carried = self._reattached() if by_agent else None
            was_compacted = self.tracker.is_compacted
            self.transcript.apply(record)
            self._take(event, record.timestamp)
            if by_agent:
                self._ended = self._ending(carried)
                lacks_history = any(part.kind is HiddenKind.HISTORY for part in self.listed)
                self._tracker.compacted(carried, self._ended, lacks_history=lacks_history)
                self.listed = tuple(part for part in self.listed if part.kind is not HiddenKind.HISTORY)
            if isinstance(event, UsageReported) and self._tracker.doubts:
                continue
            origin = self.transcript.origin
            version = origin.version if origin else ""
            self.evidence = self.evidence.after(event, self.transcript.model, version)
            if carried is not None:
                self.evidence = self.evidence.attaching(carried)
            at = self._time(event.timestamp, record.timestamp) if isinstance(event, UsageReported) else 0
            self.cached = self.cached.after(event, at)
            if was_compacted and isinstance(event, UsageReported) and not self.tracker.is_compacted:
                self.evidence = self.evidence.ended(self.tracker.surplus, self.tracker.overhead)

    def _is_by_agent(self, edit: Edit) -> bool:
        """Returns whether the edit is a compaction by the agent of an imported conversation and is not undone."""
        return isinstance(edit, CompactionEdit) and edit.by_agent and not self.transcript.is_reverted(edit.id)

    def _reattached(self) -> int | None:
        """Returns the tokens of the files that the agent adds again when it compacts now; None if unknown."""
        origin, agent = self.transcript.origin, agent_of(self.transcript)
        if origin is None or agent is None:
            return None
        setup = Setup(version=origin.version, model=self.transcript.model)
        again = agent.own_context.reattached(setup, self.transcript.view)
        if again is None:
            return None
        count, scale = self.counter.count, self._tracker.scale
        comes_back = [one for one in again.files if scale(round(count(one.plain) * one.times * one.more)) <= again.most]
        return sum(scale(round(count(one.shown) * one.times)) for one in comes_back)

    def _ending(self, carried: int | None) -> Ending | None:
        """Returns what the agent's compactions, in this and other conversations, show that the context holds now. The
        `carried` tokens of files are not part of it if they are known."""
        origin = self.transcript.origin
        if origin is None:
            return None
        seen = self.evidence.joined(self._others(origin.format)).compactions
        return ending(seen, origin.version, self.transcript.model, knows_files=carried is not None)

    def price(self, usage: Usage) -> float | None:
        """Returns the list price of a request to the present model in US dollars, None if it is not known."""
        return self._cost(self.transcript.model, usage)

    def use_counter(self, counter: TokenCounter, calibration: Calibration) -> None:
        """Changes the token counter, because the settings name another, and counts all messages of the view again."""
        self.counter = counter
        self.tracker.recalibrate(calibration, Calibration.prior(counter.error_share))
        self.recount()

    def recount(self) -> None:
        """Counts all messages of the view and the tools again. The figure is estimated until the next usage report."""
        self.counts = {message.id: self._break_down(message) for message in self.transcript.view}
        self.tracker.declare_tools(self.counter.count_tools(self.transcript.tools))
        self._recount_tracker()

    def count(self, message: Message) -> MessageCount:
        return MessageCount(counter=self.counter.name, parts=self._break_down(message))

    def count_listed(self, event: PromptListed) -> PromptListed:
        """Returns the event with the local counts of its parts in place of their texts."""
        if not event.texts:
            return event
        pairs = zip(event.parts, event.texts, strict=True)
        return PromptListed(parts=tuple(replace(part, tokens=self.counter.count(text)) for part, text in pairs))

    def counted_view(self) -> CountedView:
        """Returns the view with calibrated counts, for planning an edit.

        Its `used` is the figure that the tracker will give after an edit, before any usage is reported. Counts are
        rounded up, so that what fits by the plan also fits when it is applied.
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
        """Returns the calibrated counts of items of the view, rounded up, in the same order."""
        ratio = self.tracker.calibration.ratio
        return [ceil(self.counts[item.message.id].total * ratio) for item in items]

    def _break_down(self, message: Message) -> Breakdown:
        """Returns a message's local count by kind. Messages must be passed in order, because a result of the memory
        tool is recognized by the call before it."""
        self._note_memory_uses(message)
        return self.counter.break_down(message, self._memory_uses)

    def _note_memory_uses(self, message: Message) -> None:
        for block in message.content:
            if isinstance(block, ToolUseBlock) and block.name == NAME:
                self._memory_uses.add(block.id)

    def _take(self, event: Event, timestamp: int) -> None:  # noqa: C901, PLR0912 - one case for each event
        match event:
            case ToolsDeclared(tools=tools):
                self.tracker.declare_tools(self.counter.count_tools(tools))
            case PromptListed():
                parts = self.count_listed(event).parts
                kinds = {part.kind for part in parts}
                self.listed = (*(part for part in self.listed if part.kind not in kinds), *parts)
            case ContextWarned(used=used, again_below=again_below):
                self.alarm = Alarm(used=used, again_below=again_below)
            case UsageReported(usage=usage, message_id=message_id, timestamp=reported):
                if self._unsettled:
                    self.tracker.spend(usage)
                else:
                    self.tracker.report(usage, message_id, self._time(reported, timestamp))
                if event.is_copied:
                    self.tracker.spend(Usage() - usage)
                else:
                    if event.passes:
                        self.tracker.spend(sum((one.usage for one in event.passes), Usage()) - usage)
                    self.bill = self.bill.charge(message_id, request_cost(event, self.transcript.model, self._cost))
            case ContextEstimated(tokens=tokens, timestamp=reported) if not self._unsettled:
                self.tracker.assume(tokens, self._time(reported, timestamp))
            case RecordUnread():
                self.tracker.miss()
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

    def _time(self, reported: int, recorded: int) -> int:
        # An imported report without a time has none: its record's time is when it was imported.
        return reported or (0 if self.transcript.origin else recorded)

    def _append(self, message: Message, count: MessageCount | None) -> None:
        known = count is not None and count.counter == self.counter.name
        parts = count.parts if count is not None and known else self._break_down(message)
        self._note_memory_uses(message)
        self.counts[message.id] = parts
        self.tool_uses += sum(isinstance(block, ToolUseBlock) for block in message.content)
        self.tracker.append(message.id, message.role, parts)

    def _recount_edited(self, edit: Edit) -> None:
        # The figures are provisional while a log is folded, so the edit's own `tokens_saved` is used.
        self.alarm = after_update(self.alarm, self.alarm.used - edit.tokens_saved)
        if isinstance(edit, ClearToolUsesEdit | CompactionEdit):
            self.tool_uses = 0
        touched = touched_ids(edit)
        self.counts = {
            message.id: self._break_down(message) if message.id in touched else self.counts[message.id]
            for message in self.transcript.view
        }
        self._recount_tracker(by_going_back=isinstance(edit, RewindEdit))

    def _recount_tracker(self, *, by_going_back: bool = False) -> None:
        view = ((message.id, message.role, self.counts[message.id]) for message in self.transcript.view)
        self.tracker.edited(view, by_going_back=by_going_back)


# Characters. Counting this much text takes about 50 ms; longer text is counted in a thread, so that the event loop
# stays free.
_COUNT_INLINE_CHARS = 200_000
# A block without text takes as long to count as so many characters.
_CHARS_OF_BLOCK = 100
# A screenshot has about 1,300 tokens.
BYTES_OF_IMAGE = 4_000


async def counted(projection: Projection, events: Sequence[Event]) -> list[Event]:
    """Returns the events, each message with its local count. Long messages are counted in a thread."""
    chars = sum(counting_work(event.message) for event in events if isinstance(event, MessageAppended))
    chars += sum(len(text) for event in events if isinstance(event, PromptListed) for text in event.texts)
    if chars > _COUNT_INLINE_CHARS:
        return await asyncio.to_thread(_with_counts, projection, events)
    return _with_counts(projection, events)


def _with_counts(projection: Projection, events: Sequence[Event]) -> list[Event]:
    counted_ones: list[Event] = []
    for event in events:
        if isinstance(event, MessageAppended):
            event = replace(event, count=projection.count(event.message))  # noqa: PLW2901
        counted_ones.append(projection.count_listed(event) if isinstance(event, PromptListed) else event)
    return counted_ones


def counting_work(message: Message) -> int:
    """Returns how long counting a message takes, in bytes of text: its own, and more for each block."""
    parts = sum(len(block.content) if isinstance(block, ToolResultBlock) else 1 for block in message.content)
    return text_size(message) + _CHARS_OF_BLOCK * parts


def text_size(message: Message) -> int:
    """Returns the bytes of text in a message. An image is taken for as many as have its tokens."""
    size = 0
    for block in message.content:
        for part in block.content if isinstance(block, ToolResultBlock) else (block,):
            if isinstance(part, TextBlock | ResourceBlock):
                size += _bytes_of(part.text or "")
            elif isinstance(part, ToolUseBlock):
                size += _chars_in(part.input)
            elif isinstance(part, ImageBlock):
                size += BYTES_OF_IMAGE
    return size


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _chars_in(value: Any) -> int:
    """Returns the number of characters of all texts in a value of JSON, and more for each value."""
    chars = 0
    left: list[Any] = [value]
    while left:
        match part := left.pop():
            case str():
                chars += _bytes_of(part)
            case dict():
                left += cast("JsonObject", part).values()
            case list() | tuple():
                left += cast("Sequence[Any]", part)
            case _:
                chars += 1
    return chars
