"""Replays recorded conversations: what was predicted before each compaction, and what was shown after each call.

A user is also shown what has been added since the last call: a prompt or results of tools, counted. So a warning may
come after them, before the call that they are for. While a file is followed, that is so with agents that say when an
answer has ended; of others, such as Claude Code until 2.1.42, the results are taken with the next answer.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.own_context import Rule, Setup
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

# The share of the threshold at which the floor warns.
_FIXED = 8 / 9
# The ways of warning: ours; the same rule if only the size that the last call reported were known; at a fixed share.
OURS, BY_REPORTS, FLOOR = "ours", "ours, of reports alone", "fixed share (floor)"


class Guess(Struct, frozen=True, kw_only=True):
    """What was predicted before one automatic compaction: the threshold by each way, in tokens, None if not known.
    `times` counts the compactions that were known of the same version, model and window."""

    seen: Compacted
    times: int
    by: dict[str, int | None]

    def error(self, way: str) -> float:
        """Returns the distance of a prediction from the bounds, as a share of the upper one; 1 without a prediction."""
        tokens = self.by[way]
        if tokens is None:
            return 1.0
        return max(self.seen.beyond - tokens, tokens - self.seen.tokens, 0) / self.seen.tokens


class Step(Struct, frozen=True, kw_only=True):
    """What was shown from one call to the next.

    `used` is the size of the context after the call. `left` and `floor` are the forecasts then, ours and the floor's,
    None if there was none. `warned` has the size at which each way warned before the next call, for those that did. The
    warnings are made of `threshold` and `growths`.
    """

    used: int
    left: CallsLeft | None
    floor: tuple[int, int] | None
    threshold: int | None = None
    growths: tuple[int, ...] = ()
    warned: dict[str, int] = {}

    def forecast(self, used: int) -> CallsLeft | None:
        """Returns the calls left that are shown when the context has grown to `used` tokens since the call."""
        return None if self.threshold is None else calls_left(max(0, self.threshold - used), self.growths)

    def shown(self, used: int, *, is_report: bool) -> "Step":
        """Returns the step after the size `used` was shown. `is_report` says that it is the call's own report."""
        if self.threshold is None:
            return self
        earliest = int(self.threshold * _FIXED)
        is_due = used >= warns_at(self.threshold, self.growths, earliest)
        due = {OURS: is_due, BY_REPORTS: is_due and is_report, FLOOR: used >= earliest}
        return replace(self, warned={way: used for way, is_due in due.items() if is_due} | self.warned)


class Span(Struct, frozen=True, kw_only=True):
    """The calls between two compactions. `compacted` says that the agent itself compacted after the last of them."""

    name: str
    steps: tuple[Step, ...]
    compacted: bool

    @property
    def is_fitted(self) -> bool:
        """Whether the conversation is in the half on which the forecast was fitted."""
        return not int(hashlib.md5(self.name.encode(), usedforsecurity=False).hexdigest(), 16) & 1

    def first_warning(self, way: str) -> int | None:
        """Returns the place of the step in which this way warned first, or None if it did not warn."""
        return next((place for place, step in enumerate(self.steps) if way in step.warned), None)


class Replay:
    """Replays conversations one after the other; `guesses` and `spans` are what was found."""

    def __init__(self) -> None:
        self.guesses: list[Guess] = []
        self.spans: list[Span] = []
        self._known: dict[str, list[Compacted]] = {}
        self._ids: set[str] = set()

    def take(self, path: Path, transcript: ImportedTranscript) -> None:
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
                steps[-1] = steps[-1] if waiting is None else steps[-1].shown(waiting, is_report=False)
            elif isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit) and event.edit.by_agent:
                seen = evidence.compactions[-1] if len(evidence.compactions) else None
                is_new = seen is not None and seen.id not in self._ids and evidence.compactions != before.compactions
                if seen is not None and is_new:
                    self._ids.add(seen.id)
                    if seen.tells and steps:
                        self._guess(seen, before, others, agent, _setup(before, agent, model, version))
                    self._end(path, steps, compacted=seen.tells)
                    self._known.setdefault(transcript.format, []).append(seen)
                steps = []
        self._end(path, steps, compacted=False)

    def _end(self, path: Path, steps: Sequence[Step], *, compacted: bool) -> None:
        if steps:
            self.spans.append(Span(name=path.name, steps=tuple(steps), compacted=compacted))

    def _guess(
        self, seen: Compacted, evidence: Evidence, others: Sequence[Compacted], agent: Agent | None, setup: Setup
    ) -> None:
        known = of_same_window(others, agent, setup)
        same = [one for one in (*known, *evidence.compactions) if one.tells and one.version == seen.version]
        rule = agent.own_context.threshold(setup) if agent else None
        by = {
            "ours": _tokens(evidence, known, agent, setup),
            "without a rule": _tokens(evidence, known, None, setup),
            "rule alone": rule.tokens if isinstance(rule, Rule) else None,
            "last compaction": same[-1].tokens if same else None,
        }
        self.guesses.append(Guess(seen=seen, times=len(same), by=by))


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
    if threshold is None:
        return Step(used=used, left=None, floor=None)
    left, recent = max(0, threshold - used), growths[-3:]
    step = Step(
        used=used,
        left=calls_left(left, growths),
        floor=(left // max(recent), left // min(recent)) if recent else None,
        threshold=threshold,
        growths=growths,
    )
    return step.shown(used, is_report=True)


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
