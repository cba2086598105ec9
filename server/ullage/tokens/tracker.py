"""Tracks the size of a context: the last reported usage plus the calibrated count of everything appended after it."""

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.message import Role
from ullage.model.usage import Breakdown, HiddenKind, HiddenPart, Usage, UsageSource
from ullage.model.usage_report import can_be_true, confirms
from ullage.tokens.calibration import LOWEST, Calibration, Step


class ContextReading(Struct, frozen=True, kw_only=True):
    """How many tokens a context has (`used`) and how that is known (`source`). The parts of `breakdown` sum to `used`.

    `reported` is the size by the last report, None if no report covers this context. `pending_messages` counts the
    messages that were appended after that report, which was made at `reported_at` (Unix milliseconds, None if there is
    none or its time is unknown). `error_share` is the expected error as a share of `used`; right after an agent's
    compaction it is what nine of ten errors are within.
    """

    used: int
    source: UsageSource
    breakdown: Breakdown
    pending_messages: int
    reported: int | None
    reported_at: int | None
    error_share: float


def apportion(counted: Breakdown, ratio: float, used: int) -> Breakdown:
    """Returns a breakdown that sums to `used` tokens. `counted` has local counts, and `ratio` is the model's tokens per
    counted token.

    The tokens of `used` that the scaled parts do not explain become `overhead`. If the scaled parts exceed `used`, they
    share `used` in proportion.
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


def split_hidden(
    listed: Sequence[HiddenPart], ratio: float, hidden: int, servers: Sequence[str] = ()
) -> tuple[HiddenPart, ...]:
    """Returns the parts of `hidden` tokens that an agent's log lists, and what it does not contain as the last one.
    `listed` has local counts, or the agent's own, and `ratio` is as in `apportion`. If the scaled parts exceed
    `hidden`, they share it in proportion. `servers` are the MCP servers that the agent's settings name; those that are
    not listed are named with the last part, if no size of tools is. Returns nothing if nothing is known."""
    own = sum(part.tokens for part in listed if not part.estimated)
    counted = sum(part.tokens for part in listed if part.estimated)
    has_tools = any(part.kind in (HiddenKind.TOOLS, HiddenKind.MCP) for part in listed)
    names = "" if has_tools else ", ".join(servers)
    if not hidden or not (own or counted or names):
        return ()
    exact, left = min(1.0, hidden / own if own else 1.0), max(0, hidden - own)
    fitting = min(ratio, left / counted) if counted else 0.0
    parts = [replace(part, tokens=int(part.tokens * (fitting if part.estimated else exact))) for part in listed]
    rest = hidden - sum(part.tokens for part in parts)
    return (*parts, HiddenPart(kind=HiddenKind.UNKNOWN, tokens=rest, name=names)) if rest else tuple(parts)


# The number of messages that a late report may still belong to. Older messages are only part of the sums.
REMEMBERED = 256
# The number of prompt turns whose last reports are kept, for a user who goes back to the end of one.
TURNS_KEPT = 32
_UNTAUGHT = Calibration()
# What nine of ten first figures after an agent's own compaction were within, as a share of them. Of 24 recorded ones
# with no files counted those were 28 %, and 16 % with the files that should have come back.
AFTER_COMPACTION, AFTER_REATTACHING = 0.3, 0.18
# Nine of ten recorded figures are within so many mean distances of the median.
_NINE_OF_TEN = 2.5
# The least error after one, that of nine of ten recorded figures: a few compactions may be alike by chance.
_LEAST_DOUBT = 0.14
# A hidden part so many times as large as in the agent's other conversations holds a history that the file lacks: that
# of a resumed session was at least 1.6 times as large, all others at most 1.1 times.
_RESUMED = 1.25


class Ending(Struct, frozen=True, kw_only=True):
    """What contexts hold after a compaction besides the messages in the log, as other compactions of the agent have
    shown it, in tokens: `hidden`, the part that is in each prompt, and `added`, what the agent attaches again.
    `deviation` is the mean distance of their figures from `added`."""

    hidden: int
    added: int
    deviation: int


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
    """The last usage report. `answer` is the message that it belongs to, `at` its time in Unix milliseconds (0 if
    unknown), and `reasoning` is as in `Step`. `of_another_model` is set once another model continues: the growth to its
    next report teaches nothing, because its hidden part may differ. `is_estimate` says that it is no report but the
    agent's own estimate."""

    usage: Usage
    answer: Counted
    at: int
    reasoning: float = 0.0
    of_another_model: bool = False
    is_estimate: bool = False


class TrackerState(Struct, kw_only=True):
    """The whole state of a tracker. `own` is what this context's reports alone have taught. `parts` and `tools` are
    local counts of the view. `smallest` is the report with the smallest counted prompt, or a later one that allows only
    a smaller hidden part, as (reported, counted); its surplus is the part hidden from the session. `carried` are the
    tokens that an agent adds or leaves out with its compaction besides the messages, and `doubt` the error that such a
    compaction leaves until the next report. `turn` counts prompt turns, and `earlier` are the last reports of earlier
    ones and those of contexts before an edit, the last made last.
    `answered` is set if the last message is the assistant's, so that the next prompt begins a turn. `doubted` is the
    last report if it was too small to be true, as (reported, counted). `misses` is set if a later record could not be
    read."""

    calibration: Calibration = Calibration()
    own: Calibration = Calibration()
    parts: Breakdown = Breakdown()
    tools: int = 0
    messages: int = 0
    turn: int = 0
    answered: bool = False
    recent: tuple[Counted, ...] = ()
    anchor: Anchor | None = None
    earlier: tuple[Anchor, ...] = ()
    smallest: tuple[int, int] | None = None
    carried: int = 0
    doubt: float = 0.0
    totals: Usage = Usage()
    doubted: tuple[int, int] | None = None
    misses: bool = False


class ContextTracker:
    """Computes how many tokens one context has, from usage reports and local counts. The cost of every method but
    `edited` is independent of the session's length.

    `calibration` is what all sessions have taught about the model, and `prior` is what to assume before this context's
    first report. The reasoning that answers have added is counted by what this context's reports alone have taught.
    Thus a context whose log is folded again has the same figures.
    """

    def __init__(self, calibration: Calibration = _UNTAUGHT, prior: Calibration = _UNTAUGHT) -> None:
        self._now = TrackerState(calibration=calibration, own=prior)
        self._recent: dict[str, Counted] = {}
        # The figures are asked for several times between two changes; every change drops them.
        self._reading: ContextReading | None = None

    @classmethod
    def restore(cls, state: TrackerState) -> "ContextTracker":
        """Returns a tracker with a state that the property `state` gave."""
        tracker = cls()
        tracker._now, tracker._recent = copy(state), {counted.message_id: counted for counted in state.recent}
        return tracker

    @property
    def state(self) -> TrackerState:
        """The whole state, as a value for `restore`."""
        return replace(self._now, recent=tuple(self._recent.values()))

    def append(self, message_id: str, role: Role, parts: Breakdown) -> None:
        """Adds a message at the end of the view. `parts` are its local counts by kind."""
        self._reading = None
        before = self._counted
        self._add(role, parts)
        self._recent[message_id] = self._place_of(message_id, before)
        if len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def _add(self, role: Role, parts: Breakdown) -> None:
        self._now.parts += parts
        self._now.messages += 1
        # A message with tool results only, those of the memory tool included, has no frame and begins no turn.
        if role is Role.USER and self._now.answered and parts.messages and not parts.tool_results:
            self._now.turn += 1
        self._now.answered = role is Role.ASSISTANT

    def _place_of(self, message_id: str, before: int) -> Counted:
        """Returns the place of the last message, before which so many tokens are counted."""
        return Counted(
            message_id=message_id,
            turn=self._now.turn,
            before=before,
            after=self._counted,
            number=self._now.messages,
        )

    def declare_tools(self, tokens: int) -> None:
        """Sets the local count of the tool definitions that are sent from here on."""
        self._reading = None
        self._now.tools = tokens

    def report(self, usage: Usage, message_id: str, at: int) -> None:
        """Takes a usage report: the provider's token counts of the request that the message `message_id` answers. `at`
        is Unix milliseconds, 0 if unknown.

        A second report of one answer replaces the first. A report of an answer from before the last edit or before the
        last report, one without prompt tokens, and one that can't be true only count in the totals.
        """
        self._reading = None
        if self._now.anchor and self._now.anchor.answer.message_id == message_id:
            self._now.totals = self._now.totals - self._now.anchor.usage + usage
            if self._believes(usage.prompt, self._now.anchor.answer):
                self._now.anchor = replace(self._now.anchor, usage=usage, at=at)
            return
        self._now.totals += usage
        answer = self._recent.get(message_id)
        if answer is None or not self._believes(usage.prompt, answer):
            return
        reasoning = 0.0
        if self._now.anchor and not self._now.anchor.of_another_model:
            step = _step(self._now.anchor, answer.before, answer.turn)
            self._learn(step, usage.prompt - self._now.anchor.usage.prompt)
            reasoning = 0.0 if step.new_turn else self._now.own.unseen(step)
        # What is hidden is at most the prompt without its counted text, if that has as few tokens as text can have.
        most = usage.prompt - LOWEST * answer.before
        if self._now.smallest is None or answer.before <= self._now.smallest[1] or most < self.overhead:
            self._now.smallest = usage.prompt, answer.before
        if self._now.anchor and self._now.anchor.answer.turn != answer.turn:
            self._put_off()
        self._now.anchor = Anchor(usage=usage, answer=answer, at=at, reasoning=reasoning)
        self._now.carried, self._now.doubt, self._now.misses = 0, 0.0, False
        self._forget_before(answer)

    def miss(self) -> None:
        """Notes that a record could not be read. It may have been a usage report."""
        self._reading = None
        self._now.misses = True

    def _believes(self, prompt: int, answer: Counted) -> bool:
        """Returns whether a reported prompt can be that of the request which `answer` answers."""
        before, self._now.doubted = self._now.doubted, None
        if not prompt or can_be_true(prompt, self.scale(answer.before)):
            return prompt > 0
        if before and confirms(prompt - before[0], self.scale(answer.before - before[1])):
            return True
        self._now.doubted = prompt, answer.before
        return False

    @property
    def doubts(self) -> bool:
        """Whether the last report was too small to be true, so that the figure does not come from it."""
        return self._now.doubted is not None

    def assume(self, tokens: int, at: int) -> None:
        """Takes the agent's own estimate of the whole view: `tokens`, made at `at` (Unix milliseconds, 0 if unknown).
        The figure stays an estimate, and the growth from it to the next report teaches nothing."""
        self._reading = None
        usage = Usage(input_tokens=tokens)
        self._now.anchor = Anchor(
            usage=usage, answer=self._place_of("", self._counted), at=at, of_another_model=True, is_estimate=True
        )

    def take_count(self, prompt: int, at: int) -> None:
        """Takes the provider's own count of the whole view: `prompt` tokens, counted at `at` (Unix milliseconds). The
        figure is then as certain as after a report. Nothing is added to the totals, because no request was answered."""
        self._reading = None
        self._now.anchor = Anchor(usage=Usage(input_tokens=prompt), answer=self._place_of("", self._counted), at=at)
        self._now.smallest = prompt, self._counted

    def compacted(self, carried: int | None, ending: Ending | None = None, *, lacks_history: bool = False) -> None:
        """Notes that the edit just given to `edited` is a compaction by the conversation's agent. `carried` are
        the tokens of the files that the agent attached to the context again, None if unknown, and `ending` what other
        compactions have shown, None if too few are known. Until the next report the figure includes it, and its error
        share is at least the mean error of such figures. `lacks_history` says that the log lacks messages before its
        first one: then none, or all, of the hidden part may have been such messages, which the compaction removed."""
        self._reading = None
        if ending is None:
            self._now.carried = carried or 0
            self._now.doubt = AFTER_COMPACTION if carried is None else AFTER_REATTACHING
            if lacks_history:
                half = self.overhead // 2
                self._now.carried -= half
                self._now.doubt = max(
                    self._now.doubt, half / max(self.overhead + self.scale(self._counted) + self._now.carried, 1)
                )
            return
        hidden = self.overhead
        is_resumed = hidden > _RESUMED * ending.hidden
        kept = min(hidden, ending.hidden) if is_resumed else hidden
        self._now.carried = (carried or 0) + ending.added + kept - hidden
        after = hidden + self.scale(self._counted) + self._now.carried
        # How much of the hidden part was the history of a resumed conversation is a guess.
        least = AFTER_COMPACTION if is_resumed else _LEAST_DOUBT
        self._now.doubt = max(least, _NINE_OF_TEN * ending.deviation / max(after, 1))

    @property
    def is_compacted(self) -> bool:
        """Whether the agent has compacted the context and no report has come since."""
        return self._now.doubt > 0

    @property
    def surplus(self) -> int:
        """The tokens of the last reported prompt that the messages in the log do not explain; 0 without a report."""
        anchor = self._now.anchor
        return max(0, anchor.usage.prompt - self.scale(anchor.answer.before)) if anchor else 0

    def edited(self, counts: Iterable[tuple[str, Role, Breakdown]], *, by_going_back: bool = False) -> None:
        """Takes the whole view after an edit: each message's id, role and local counts, in order. The last report does
        not cover this view, so the figure is estimated until the next report.

        `by_going_back` says that the edit only left out messages. A report still covers the view then if its answer and
        everything before that are in the view; the figure comes from the last of these.
        """
        self._reading = None
        self._now.carried, self._now.doubt, self._now.doubted = 0, 0.0, None
        self._put_off()
        known = {one.answer.message_id: one for one in self._now.earlier} if by_going_back else {}
        self._now.anchor = None
        self._recent.clear()
        self._now.messages = 0
        self._now.parts = Breakdown()
        for message_id, role, parts in counts:
            self._add(role, parts)
            anchor = known.get(message_id)
            if anchor and (self._counted, self._now.messages) == (anchor.answer.after, anchor.answer.number):
                self._now.anchor, self._now.turn = anchor, anchor.answer.turn

    def _put_off(self) -> None:
        """Keeps the last report for the case that its answer is the end of the context once more."""
        anchor = self._now.anchor
        if anchor and anchor.answer.message_id:
            others = (one for one in self._now.earlier if one.answer.message_id != anchor.answer.message_id)
            self._now.earlier = (*others, anchor)[-TURNS_KEPT:]

    def spend(self, usage: Usage) -> None:
        """Adds a report of no message, such as a summary's, to the totals. The figure does not change."""
        self._now.totals += usage

    def change_model(self) -> None:
        """Notes that another model with the same tokenizer continues. The figure stays based on the last report, but
        the growth to the next one teaches nothing."""
        if self._now.anchor:
            self._now.anchor = replace(self._now.anchor, of_another_model=True)
        self._now.earlier = tuple(replace(one, of_another_model=True) for one in self._now.earlier)

    def recalibrate(self, calibration: Calibration, prior: Calibration) -> None:
        """Notes that a model with another tokenizer continues. The reports are dropped, because they count other
        tokens; the part of the prompt that the session does not contain is assumed to have as many tokens as before."""
        self._reading = None
        hidden = self.overhead
        self._now.calibration, self._now.own = calibration, prior
        self._now.anchor, self._now.earlier = None, ()
        if self._now.smallest:
            counted = self._now.smallest[1]
            self._now.smallest = hidden + self.scale(counted), counted

    def trust(self, calibration: Calibration) -> None:
        """Replaces the calibration by one that has already learned from the reports taken so far."""
        self._reading = None
        self._now.calibration = calibration

    @property
    def calibration(self) -> Calibration:
        """What is known about the model now, to be kept for other sessions. It includes the tokens that this session's
        prompts hold beyond its content."""
        hidden = self.overhead if self._hides_prompt and self._now.smallest else self._now.calibration.hidden
        return replace(self._now.calibration, hidden=hidden)

    @property
    def totals(self) -> Usage:
        """The sum of the token counts of all reports."""
        return self._now.totals

    @property
    def overhead(self) -> int:
        """The tokens of a prompt that the session does not contain, as far as this session's own reports show them. 0
        before the first report, because another session's prompts say nothing about this one's."""
        if self._now.smallest is None:
            return 0
        reported, counted = self._now.smallest
        return max(0, reported - self.scale(counted))

    @property
    def reading(self) -> ContextReading:
        """How many tokens the context has now, and how that is known."""
        if self._reading is None:
            self._reading = self._read()
        return self._reading

    def _read(self) -> ContextReading:
        anchor = self._now.anchor
        if anchor is None:
            uncertain = used = max(0, self.overhead + self.scale(self._counted) + self._now.carried)
            source, pending = UsageSource.ESTIMATED, self._now.messages
        else:
            step = _step(anchor, self._counted, self._now.turn)
            pending = self._now.messages - anchor.answer.number
            if step.added or pending:
                source, used = (
                    UsageSource.STALE,
                    max(0, anchor.usage.prompt + round(self._now.calibration.expect(step))),
                )
                counts_answer = self._now.calibration.counts_answer(step)
                uncertain = self.scale(abs(step.added) + (step.answer if counts_answer else 0))
            else:
                source = UsageSource.STALE if self._now.misses else UsageSource.REPORTED
                used, uncertain = anchor.usage.total, 0
            if anchor.is_estimate:
                source, uncertain, pending = UsageSource.ESTIMATED, used, self._now.messages
        known = None if anchor is None or anchor.is_estimate else anchor
        return ContextReading(
            used=used,
            source=source,
            breakdown=apportion(replace(self._now.parts, tools=self._now.tools), self._now.calibration.ratio, used),
            pending_messages=pending,
            reported=known.usage.total if known else None,
            reported_at=known.at or None if known else None,
            error_share=self._error_share(used, uncertain),
        )

    def _error_share(self, used: int, uncertain: int) -> float:
        """Returns the expected error as a share of `used`, if `uncertain` of these tokens were counted locally. Before
        the first report, a hidden prompt as large as in the last session with this model may be missing and counts as
        an error."""
        missing = self._now.calibration.hidden if self._hides_prompt and self._now.smallest is None else 0
        error = self._now.calibration.error * uncertain + missing
        return min(1.0, max(error / max(used, 1), self._now.doubt))

    def scale(self, tokens: int) -> int:
        """Converts a local count to the model's tokens."""
        return round(self._now.calibration.scale(tokens))

    @property
    def _counted(self) -> int:
        return self._now.parts.total + self._now.tools

    @property
    def _hides_prompt(self) -> bool:
        return not self._now.parts.system_prompt and not self._now.tools

    def _learn(self, step: Step, grown: int) -> None:
        self._now.own = self._now.own.learn(step, grown)
        self._now.calibration = self._now.calibration.learn(step, grown)

    def _forget_before(self, answer: Counted) -> None:
        """Forgets the messages up to and including the answer, because no later report can belong to them."""
        first = next(iter(self._recent.values()))
        for message_id in list(islice(self._recent, answer.number - first.number + 1)):
            del self._recent[message_id]


def _step(anchor: Anchor, counted: int, turn: int) -> Step:
    """Returns what was added between a report and `counted` tokens of the view and `turn` prompt turns."""
    return Step(
        output=anchor.usage.output_tokens,
        answer=anchor.answer.after - anchor.answer.before,
        added=counted - anchor.answer.after,
        thought=anchor.usage.reasoning_tokens,
        reasoning=anchor.reasoning,
        new_turn=turn != anchor.answer.turn,
    )
