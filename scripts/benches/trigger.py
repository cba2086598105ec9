"""Measures how well it is known where agents compact: the threshold, the calls left until then, and the warning.

Recorded conversations are replayed event by event, in the order of their times, each with the compactions of the
earlier ones as evidence, as a store has them. Compactions that a user or the provider asked for are no truth.

- Threshold: the truth lies between two bounds, the context with which the last call before was made and the context
  that was compacted. The error is the distance from them, as a share.
- Calls: the truth is the number of calls that still came before the compaction, for the last forty calls before it.
- Warning: ahead if a call followed it before the compaction. What is shown between two calls counts, too: a prompt or
  results of tools that are in the conversation before the call that they are for. It was false if the conversation
  continued for longer than the forecast's range without a compaction or a smaller context.

While a file is followed, what is added between two calls is shown with agents that say when an answer has ended; of
others, such as Claude Code until 2.1.42, the results are taken with the next answer.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benches.report import Aim, Report, at_least, at_most, median, recorded
from ullage.agents.agent import Agent
from ullage.agents.own_context import Setup
from ullage.agents.table import agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import ContextLimits
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    UsageReported,
)
from ullage.model.message import Role
from ullage.model.usage import CallsLeft, UsageSource
from ullage.policy.budget import calls_left, used_for_warnings, warns_at
from ullage.policy.evidence import Compacted, Evidence
from ullage.policy.threshold import Candidates, find_threshold, find_window, of_same_window
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter

# The share of the threshold from which on a warning may come.
_EARLIEST = 8 / 9


class Guess(Struct, frozen=True, kw_only=True):
    """The threshold that was predicted before one automatic compaction, in tokens, None if it is not known. `times`
    counts the compactions that were known of the same version, model and window."""

    seen: Compacted
    times: int
    tokens: int | None

    @property
    def error(self) -> float:
        """The distance of the prediction from the bounds, as a share of the upper one; 1 without a prediction."""
        if self.tokens is None:
            return 1.0
        return max(self.seen.beyond - self.tokens, self.tokens - self.seen.tokens, 0) / self.seen.tokens


class Step(Struct, frozen=True, kw_only=True):
    """What was shown from one call to the next.

    `used` is the size of the context after the call, and `warned` that at which a warning came before the next call,
    None if none did. Forecasts and warnings are made of `threshold` and `growths`.
    """

    used: int
    threshold: int | None = None
    growths: tuple[int, ...] = ()
    warned: int | None = None

    def forecast(self, used: int) -> CallsLeft | None:
        """Returns the calls left that are shown when the context has grown to `used` tokens since the call."""
        return None if self.threshold is None else calls_left(max(0, self.threshold - used), self.growths)

    def shown(self, used: int) -> "Step":
        """Returns the step after the size `used` was shown."""
        if self.threshold is None or self.warned is not None:
            return self
        is_due = used >= warns_at(self.threshold, self.growths, int(self.threshold * _EARLIEST))
        return replace(self, warned=used) if is_due else self


class Span(Struct, frozen=True, kw_only=True):
    """The calls between two compactions. `compacted` says that the agent itself compacted after the last of them."""

    steps: tuple[Step, ...]
    compacted: bool

    @property
    def first_warning(self) -> int | None:
        """The place of the step in which a warning came first, None if none did."""
        return next((place for place, step in enumerate(self.steps) if step.warned is not None), None)


class Replay:
    """Replays conversations one after the other; `guesses` and `spans` are what was found."""

    def __init__(self) -> None:
        self.guesses: list[Guess] = []
        self.spans: list[Span] = []
        self._known: dict[str, list[Compacted]] = {}
        self._ids: set[str] = set()

    def take(self, transcript: ImportedTranscript) -> None:
        """Replays one conversation."""
        agent, evidence = agent_of_format(transcript.format), Evidence()
        model, version, steps = transcript.model, "", list[Step]()
        others = tuple(self._known.get(transcript.format, ()))
        counted = _Counted(model)
        for event in transcript.events:
            counted.take(event)
            if isinstance(event, ConversationImported):
                version = event.version
            elif isinstance(event, ModelChanged):
                model = event.model
            before, evidence = evidence, evidence.after(event, model, version)
            if isinstance(event, UsageReported) and evidence.last:
                if steps and evidence.answer == before.answer:
                    steps.pop()
                steps.append(_step(evidence, others, agent, _setup(evidence, agent, model, version)))
            elif isinstance(event, MessageAppended) and event.message.role is Role.USER and steps:
                waiting = counted.waiting
                steps[-1] = steps[-1] if waiting is None else steps[-1].shown(waiting)
            elif isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit) and event.edit.by_agent:
                seen = evidence.compactions[-1] if len(evidence.compactions) else None
                is_new = seen is not None and seen.id not in self._ids and evidence.compactions != before.compactions
                if seen is not None and is_new:
                    self._ids.add(seen.id)
                    if seen.tells and steps:
                        self._guess(seen, before, others, agent, _setup(before, agent, model, version))
                    self._end(steps, compacted=seen.tells)
                    self._known.setdefault(transcript.format, []).append(seen)
                steps = []
        self._end(steps, compacted=False)

    def _end(self, steps: Sequence[Step], *, compacted: bool) -> None:
        if steps:
            self.spans.append(Span(steps=tuple(steps), compacted=compacted))

    def _guess(
        self, seen: Compacted, evidence: Evidence, others: Sequence[Compacted], agent: Agent | None, setup: Setup
    ) -> None:
        known = of_same_window(others, agent, setup)
        same = [one for one in (*known, *evidence.compactions) if one.tells and one.version == seen.version]
        tokens = _tokens(evidence, known, agent, setup)
        self.guesses.append(Guess(seen=seen, times=len(same), tokens=tokens))


def _setup(evidence: Evidence, agent: Agent | None, model: str, version: str) -> Setup:
    limits = ContextLimits.for_model(model, {})
    known = Candidates(model=model, catalog=limits.input, agent=agent, holder="the agent")
    window = find_window(evidence, known)
    return Setup(version=version, model=model, window=window.size if window else 0, max_output=limits.max_output)


def _tokens(evidence: Evidence, others: tuple[Compacted, ...], agent: Agent | None, setup: Setup) -> int | None:
    """Returns the threshold, or None if it is not known. As in a session, none is looked for without a window."""
    if not setup.window:
        return None
    found = find_threshold(evidence, others, agent, setup).threshold
    return found.tokens if found else None


def _step(evidence: Evidence, others: tuple[Compacted, ...], agent: Agent | None, setup: Setup) -> Step:
    used, growths = evidence.last, evidence.growths
    threshold = _tokens(evidence, of_same_window(others, agent, setup), agent, setup)
    return Step(used=used, threshold=threshold, growths=growths).shown(used)


class _Counted:
    """Counts a conversation as its session does: `waiting` is the size with what no call had yet."""

    def __init__(self, model: str) -> None:
        counter = get_counter(model)
        self._projection = Projection(counter, Calibration.prior(counter.error_share))
        self._position = 0

    def take(self, event: Event) -> None:
        """Takes the next event of the conversation."""
        if isinstance(event, ModelChanged) and (counter := get_counter(event.model)) != self._projection.counter:
            self._projection.use_counter(counter, Calibration.prior(counter.error_share))
        self._projection.apply([Record(position=self._position, timestamp=self._position, event=event)])
        self._position += 1

    @property
    def waiting(self) -> int | None:
        """The size that warnings go by, with what was added since the last call. None if no call shows the size."""
        reading = self._projection.tracker.reading
        return used_for_warnings(reading.used, reading.reported) if reading.source is UsageSource.STALE else None


_STEPS = 40


def run(paths: Sequence[Path]) -> Report:
    """Returns the figures of all conversations, or of the recorded ones if none are named."""
    replay = Replay()
    found = [transcript for _, transcript in recorded(paths) if agent_of_format(transcript.format)]
    for transcript in sorted(found, key=_begin):
        replay.take(transcript)
    calls = _calls_row(replay.spans)
    warnings = _warning_row(replay.spans)
    thresholds = [_threshold_row(replay.guesses, least) for least in (0, 1, 3)]
    return Report(bench="trigger", rows=[*thresholds, calls, warnings], aims=_aims(replay, calls, warnings))


def _begin(transcript: ImportedTranscript) -> int:
    times = (event.timestamp for event in transcript.events if isinstance(event, UsageReported))
    return next((time for time in times if time), 0)


def _threshold_row(guesses: Iterable[Guess], least: int) -> dict[str, Any]:
    known = [guess for guess in guesses if guess.times >= least]
    errors = [guess.error for guess in known]
    return {
        "threshold, known before": f">= {least}",
        "compactions": len(known),
        "median error": median(errors),
        "max error": max(errors, default=0.0),
    }


def _calls_row(spans: Sequence[Span]) -> dict[str, Any]:
    held: list[bool] = []
    widths: list[float] = []
    for span in spans:
        if span.compacted:
            for place, step in list(enumerate(span.steps))[-_STEPS:]:
                truth = len(span.steps) - 1 - place
                if (left := step.forecast(step.used)) is not None and step.growths:
                    held.append(left.low <= truth <= left.high)
                    widths.append((left.high - left.low) / max(1, left.mean))
    return {
        "calls left of steps": len(held),
        "in the range": _share(held),
        "median width / mean": median(widths),
    }


def _warning_row(spans: Sequence[Span]) -> dict[str, Any]:
    ahead: list[bool] = []
    false: list[bool] = []
    leads: list[int] = []
    for span in spans:
        steps = span.steps
        at = span.first_warning
        if span.compacted:
            ahead.append(at is not None and at < len(steps) - 1)
        if at is None:
            continue
        leads += [len(steps) - 1 - at] if span.compacted else []
        false.append(not span.compacted and _continued(steps, at))
    return {
        "warnings of compactions": len(ahead),
        "ahead": _share(ahead),
        "warnings": len(false),
        "false": _share(false),
        "median calls ahead": median(leads),
    }


def _continued(steps: Sequence[Step], at: int) -> bool:
    """Returns whether the conversation continued for longer than the forecast's range after a warning, though its
    context did not become smaller."""
    warned = steps[at].warned or 0
    left = steps[at].forecast(warned)
    after = steps[at + 1 :]
    smaller = next((place for place, step in enumerate(after) if step.used < 0.9 * warned), len(after))
    return left is not None and smaller == len(after) and len(after) > left.high


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0


def _aims(replay: Replay, calls: dict[str, Any], warned: dict[str, Any]) -> list[Aim]:
    learned = [
        at_most(f"largest error of the threshold, compactions known: {least} or more", max(errors), bound)
        for least, bound in ((1, 0.01), (3, 0.002))
        if (errors := [guess.error for guess in replay.guesses if guess.times >= least])
    ]
    return [
        *learned,
        at_least("share of true numbers of calls in the range", calls["in the range"], 0.8),
        at_least("share of compactions warned of at least one call ahead", warned["ahead"], 0.95),
        at_most("share of false warnings", warned["false"], 0.05),
    ]
