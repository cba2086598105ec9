"""Tracks the size of a context: the last reported usage plus the calibrated count of everything appended after it."""

from collections.abc import Iterable
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.message import Role
from ullage.model.usage import Breakdown, Usage, UsageSource
from ullage.tokens.calibration import Calibration, Rivals, Step


class Reading(Struct, frozen=True, kw_only=True):
    """How full a context is, and how that is known. `breakdown.total` equals `used`.

    `pending_messages` were appended after the last report, which was made at `reported_at` (Unix milliseconds).
    `error_share` is the expected error as a share of `used`.
    """

    used: int
    source: UsageSource
    breakdown: Breakdown
    pending_messages: int
    reported_at: int | None
    error_share: float


def apportion(counted: Breakdown, ratio: float, used: int) -> Breakdown:
    """Converts the parts of `counted` to the model's tokens, so that they sum to `used`; the rest of `used` becomes
    `overhead`.

    If the parts exceed `used`, they share it in proportion.
    """
    fitting = min(ratio, used / counted.total) if counted.total else 0.0
    parts = Breakdown(
        system_prompt=int(counted.system_prompt * fitting),
        tools=int(counted.tools * fitting),
        memory=int(counted.memory * fitting),
        messages=int(counted.messages * fitting),
        tool_results=int(counted.tool_results * fitting),
        summary=int(counted.summary * fitting),
        overhead=int(counted.overhead * fitting),
    )
    return replace(parts, overhead=parts.overhead + used - parts.total)


# The number of messages that a late report may still belong to. Older messages are only part of the sums.
REMEMBERED = 256
_UNTAUGHT = Calibration()


class Counted(Struct, frozen=True, kw_only=True):
    """A message's place in the running sum of local counts: the sum `before` the message and the sum `after` it,
    which includes the message. `number` is the message's number in the view and `turn` that of its prompt turn, both
    from 1."""

    message_id: str
    turn: int
    before: int
    after: int
    number: int


class Anchor(Struct, frozen=True, kw_only=True):
    """The last report and the message that it belongs to; `reasoning` as in `Step`."""

    usage: Usage
    answer: Counted
    at: int
    reasoning: float = 0.0


class TrackerState(Struct, frozen=True, kw_only=True):
    """The whole state of a tracker. `own` is what this context's reports alone have taught. `parts` and `tools` are
    local counts of the view. `smallest` is the report with the smallest counted prompt, as (reported, counted); its
    surplus is the part hidden from the session. `turn` counts prompt turns. `answered` is set if the last message is
    the assistant's, so that the next prompt begins a turn."""

    calibration: Calibration = Calibration()
    own: Calibration = Calibration()
    parts: Breakdown = Breakdown()
    tools: int = 0
    messages: int = 0
    turn: int = 0
    answered: bool = False
    recent: tuple[Counted, ...] = ()
    anchor: Anchor | None = None
    smallest: tuple[int, int] | None = None
    totals: Usage = Usage()


class ContextTracker:
    """Tracks one context. Every method but `edited` costs the same however long the session is.

    `calibration` is what is known about the model, `prior` what was assumed before any report. The unseen text that a
    client adds to its prompts belongs to this context: it is learned starting from the prior, so that a context rebuilt
    from its log has the same knowledge.
    """

    def __init__(self, calibration: Calibration = _UNTAUGHT, prior: Calibration = _UNTAUGHT) -> None:
        self._calibration = calibration
        self._own = prior
        self._parts = Breakdown()
        self._tools = 0
        self._messages = 0
        self._turn = 0
        self._answered = False
        self._recent: dict[str, Counted] = {}
        self._anchor: Anchor | None = None
        self._smallest: tuple[int, int] | None = None
        self._totals = Usage()
        # The figures are asked for several times between two changes; every change drops them.
        self._reading: Reading | None = None

    @classmethod
    def restore(cls, state: TrackerState) -> "ContextTracker":
        """Returns a tracker with a saved `state`."""
        tracker = cls(state.calibration, state.own)
        tracker._parts, tracker._tools, tracker._messages = state.parts, state.tools, state.messages
        tracker._turn, tracker._answered = state.turn, state.answered
        tracker._recent = {counted.message_id: counted for counted in state.recent}
        tracker._anchor, tracker._smallest, tracker._totals = state.anchor, state.smallest, state.totals
        return tracker

    @property
    def state(self) -> TrackerState:
        """The whole state, as a value for `restore`."""
        return TrackerState(
            calibration=self._calibration,
            own=self._own,
            parts=self._parts,
            tools=self._tools,
            messages=self._messages,
            turn=self._turn,
            answered=self._answered,
            recent=tuple(self._recent.values()),
            anchor=self._anchor,
            smallest=self._smallest,
            totals=self._totals,
        )

    def append(self, message_id: str, role: Role, parts: Breakdown) -> None:
        """Adds a message at the end of the view, with its local count."""
        self._reading = None
        before = self._counted
        self._parts += parts
        self._messages += 1
        # A message with tool results only, those of the memory tool included, has no frame and begins no turn.
        if role is Role.USER and self._answered and parts.messages and not parts.tool_results:
            self._turn += 1
        self._answered = role is Role.ASSISTANT
        self._recent[message_id] = Counted(
            message_id=message_id, turn=self._turn, before=before, after=self._counted, number=self._messages
        )
        if len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def declare_tools(self, tokens: int) -> None:
        """Sets the local count of the tools offered from here on."""
        self._reading = None
        self._tools = tokens

    def report(self, usage: Usage, message_id: str, at: int) -> None:
        """Takes the provider's report of the request that `message_id` answers; `at` is Unix milliseconds.

        A second report of one answer replaces the first. A report of an answer from before the last edit or before the
        last report only counts in the totals.
        """
        self._reading = None
        if self._anchor and self._anchor.answer.message_id == message_id:
            self._totals = self._totals - self._anchor.usage + usage
            self._anchor = replace(self._anchor, usage=usage, at=at)
            return
        self._totals += usage
        answer = self._recent.get(message_id)
        if answer is None or usage.prompt == 0:
            return
        reasoning = 0.0
        if self._anchor:
            step = _step(self._anchor, answer.before, answer.turn)
            self._learn(step, usage.prompt - self._anchor.usage.prompt)
            reasoning = 0.0 if step.new_turn else self._own.unseen(step)
        if self._smallest is None or answer.before <= self._smallest[1]:
            self._smallest = usage.prompt, answer.before
        self._anchor = Anchor(usage=usage, answer=answer, at=at, reasoning=reasoning)
        self._forget_before(answer)

    def take_count(self, prompt: int, at: int) -> None:
        """Takes the provider's own count of the whole view as a prompt. It is as good as a report, although nothing
        was sent."""
        self._reading = None
        end = Counted(message_id="", turn=self._turn, before=self._counted, after=self._counted, number=self._messages)
        self._anchor = Anchor(usage=Usage(input_tokens=prompt), answer=end, at=at)
        self._smallest = prompt, self._counted

    def edited(self, counts: Iterable[tuple[str, Role, Breakdown]]) -> None:
        """Takes the whole view after an edit. The last report does not cover it any more."""
        self._reading = None
        self._anchor = None
        self._recent.clear()
        self._messages = 0
        self._parts = Breakdown()
        for _, _, parts in counts:
            self._messages += 1
            self._parts += parts

    def spend(self, usage: Usage) -> None:
        """Takes a report that belongs to no message, such as a summary's. It only counts in the totals."""
        self._totals += usage

    def recalibrate(self, calibration: Calibration, prior: Calibration) -> None:
        """Continues with another model. Earlier reports are in another tokenizer's tokens; the hidden part is
        assumed to be as large as it was."""
        self._reading = None
        hidden = self.overhead
        self._calibration, self._own = calibration, prior
        self._anchor = None
        if self._smallest:
            counted = self._smallest[1]
            self._smallest = hidden + self.scale(counted), counted

    def trust(self, calibration: Calibration) -> None:
        """Continues with a calibration that has already learned from the reports taken so far."""
        self._reading = None
        self._calibration = _with_reminders(calibration, self._own)

    @property
    def calibration(self) -> Calibration:
        """What is known about the model now. It includes the tokens that this session's prompts hold beyond its
        content, and leaves out the text that this session's client adds to prompts."""
        hidden = self.overhead if self._hides_prompt and self._smallest else self._calibration.hidden
        return replace(self._calibration, hidden=hidden, reminders=Rivals(), reminder=0.0)

    @property
    def totals(self) -> Usage:
        """The sum of all reports."""
        return self._totals

    @property
    def overhead(self) -> int:
        """Tokens of a prompt that the session does not contain, as far as known."""
        if self._smallest:
            reported, counted = self._smallest
            return max(0, reported - self.scale(counted))
        return self._calibration.hidden if self._hides_prompt else 0

    @property
    def reading(self) -> Reading:
        """How full the context is now."""
        if self._reading is None:
            self._reading = self._read()
        return self._reading

    def _read(self) -> Reading:
        anchor = self._anchor
        if anchor is None:
            uncertain = used = self.overhead + self.scale(self._counted)
            source, pending = UsageSource.ESTIMATED, self._messages
        else:
            step = _step(anchor, self._counted, self._turn)
            used = max(0, anchor.usage.prompt + round(self._calibration.expect(step)))
            counts_answer = self._calibration.counts_answer(step)
            uncertain = self.scale(abs(step.added) + (step.answer if counts_answer else 0))
            pending = self._messages - anchor.answer.number
            source = UsageSource.STALE if step.added or pending else UsageSource.REPORTED
        return Reading(
            used=used,
            source=source,
            breakdown=apportion(replace(self._parts, tools=self._tools), self._calibration.ratio, used),
            pending_messages=pending,
            reported_at=anchor.at if anchor else None,
            error_share=self._calibration.error * uncertain / used if used else 0.0,
        )

    def scale(self, tokens: int) -> int:
        """Converts a local count to the model's tokens."""
        return round(self._calibration.scale(tokens))

    @property
    def _counted(self) -> int:
        return self._parts.total + self._tools

    @property
    def _hides_prompt(self) -> bool:
        return not self._parts.system_prompt and not self._tools

    def _learn(self, step: Step, grown: int) -> None:
        self._own = self._own.learn(step, grown)
        self._calibration = _with_reminders(self._calibration.learn(step, grown), self._own)

    def _forget_before(self, answer: Counted) -> None:
        """Removes the messages up to and including the answer: no later report can belong to them."""
        first = next(iter(self._recent.values()))
        for message_id in list(islice(self._recent, answer.number - first.number + 1)):
            del self._recent[message_id]


def _step(anchor: Anchor, counted: int, turn: int) -> Step:
    """Returns what was added between a report and the point where the view holds `counted` tokens and `turn` prompt
    turns."""
    return Step(
        output=anchor.usage.output_tokens,
        answer=anchor.answer.after - anchor.answer.before,
        added=counted - anchor.answer.after,
        reasoning=anchor.reasoning,
        new_turn=turn != anchor.answer.turn,
    )


def _with_reminders(calibration: Calibration, own: Calibration) -> Calibration:
    return replace(calibration, reminders=own.reminders, reminder=own.reminder)
