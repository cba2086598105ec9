"""Measures how well it is known where agents compact: the threshold, the calls left until then, and the warning.

Recorded conversations are replayed event by event, in the order of their times, each with the compactions of the
earlier ones as evidence, as a store has them. Compactions that a user or the provider asked for are no truth.

- Threshold: the truth lies between two bounds, the context with which the last call before was made and the context
  that was compacted. The error is the distance from them, as a share; `of the fill` compares with the upper bound,
  which one large step can put far above the threshold.
- Calls: the truth is the number of calls that still came before the compaction, for the last forty calls before it.
- Warning: ahead if a call followed it before the compaction. What is shown between two calls counts, too: a prompt or
  results of tools that are in the conversation before the call that they are for. It was false if the conversation
  continued for longer than the forecast's range without a compaction or a smaller context.

The forecast was fitted on one half of such conversations, chosen by the hash of the file's name (`fitted`); the aims
are for all. The floors are the rule alone, the last compaction's size, the last three growths, a warning that knows no
more than the last call's report, and one at a fixed share.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benches.report import Aim, Report, at_least, at_most, median, recorded
from benches.trigger_replay import BY_REPORTS, FLOOR, OURS, Guess, Replay, Span, Step
from ullage.agents.table import agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import UsageReported

_STEPS = 40
_WAYS = (OURS, BY_REPORTS, FLOOR)
_THRESHOLDS = ("ours", "without a rule", "rule alone", "last compaction")


def run(paths: Sequence[Path]) -> Report:
    """Returns the figures of all conversations, or of the recorded ones if none are named."""
    replay = Replay()
    found = [one for one in recorded(paths) if agent_of_format(one[1].format)]
    for path, transcript in sorted(found, key=lambda one: _begin(one[1])):
        replay.take(path, transcript)
    rows = [_threshold_row(replay.guesses, way, least) for least in (0, 1, 3) for way in _THRESHOLDS]
    halves = {
        "fitted": [one for one in replay.spans if one.is_fitted],
        "held out": [one for one in replay.spans if not one.is_fitted],
        "all": replay.spans,
    }
    calls = [_calls_row(name, spans) for name, spans in halves.items()]
    warned = {(name, way): _warning_row(name, spans, way) for name, spans in halves.items() for way in _WAYS}
    misses = [row for guess in replay.guesses if (row := _miss(guess)) is not None]
    misses += [row for span in replay.spans if (row := _wrong_warning(span)) is not None]
    return Report(
        bench="trigger",
        rows=[*rows, *calls, *warned.values(), *misses],
        aims=_aims(replay, calls[-1], warned["all", OURS]),
    )


def _begin(transcript: ImportedTranscript) -> int:
    times = (event.timestamp for event in transcript.events if isinstance(event, UsageReported))
    return next((time for time in times if time), 0)


def _threshold_row(guesses: Iterable[Guess], way: str, least: int) -> dict[str, Any]:
    known = [guess for guess in guesses if guess.times >= least]
    errors = [guess.error(way) for guess in known]
    fills = [abs((guess.by[way] or 0) - guess.seen.tokens) / guess.seen.tokens for guess in known]
    return {
        "threshold by": way,
        "known before": f">= {least}",
        "compactions": len(known),
        "median error": median(errors),
        "max error": max(errors, default=0.0),
        "median of the fill": median(fills),
        "within 1% of the fill": _share([fill <= 0.01 for fill in fills]),
    }


def _miss(guess: Guess) -> dict[str, Any] | None:
    if guess.error("ours") <= 0.002:
        return None
    return {
        "missed": f"{guess.seen.model} {guess.seen.version}",
        "predicted": guess.by["ours"],
        "lower bound": guess.seen.beyond,
        "compacted at": guess.seen.tokens,
        "known": guess.times,
    }


def _wrong_warning(span: Span) -> dict[str, Any] | None:
    steps = span.steps
    at = span.first_warning(OURS)
    late = span.compacted and (at is None or at == len(steps) - 1)
    if not late and (at is None or span.compacted or not _continued(steps, at, OURS)):
        return None
    return {
        "warning": "late" if late else "false",
        "in": span.name,
        "at call": at,
        "of": len(steps),
        "last contexts": ", ".join(f"{step.used:,}" for step in steps[-3:]),
    }


def _calls_row(name: str, spans: Sequence[Span]) -> dict[str, Any]:
    held: list[bool] = []
    floor: list[bool] = []
    widths: list[float] = []
    for span in spans:
        if span.compacted:
            for place, step in list(enumerate(span.steps))[-_STEPS:]:
                truth = len(span.steps) - 1 - place
                if step.left is not None and step.floor is not None:
                    held.append(step.left.low <= truth <= step.left.high)
                    floor.append(step.floor[0] <= truth <= step.floor[1])
                    widths.append((step.left.high - step.left.low) / max(1, step.left.mean))
    return {
        "calls left": name,
        "steps": len(held),
        "in the range": _share(held),
        "median width / mean": median(widths),
        "floor: last three growths": _share(floor),
    }


def _warning_row(name: str, spans: Sequence[Span], way: str) -> dict[str, Any]:
    ahead: list[bool] = []
    false: list[bool] = []
    leads: list[int] = []
    for span in spans:
        steps = span.steps
        at = span.first_warning(way)
        if span.compacted:
            ahead.append(at is not None and at < len(steps) - 1)
        if at is None:
            continue
        leads += [len(steps) - 1 - at] if span.compacted else []
        false.append(not span.compacted and _continued(steps, at, way))
    return {
        "warning": f"{name}, {way}",
        "compactions": len(ahead),
        "ahead": _share(ahead),
        "warnings": len(false),
        "false": _share(false),
        "median calls ahead": median(leads),
    }


def _continued(steps: Sequence[Step], at: int, way: str) -> bool:
    """Returns whether the conversation continued for longer than the forecast's range after a warning, though its
    context did not become smaller."""
    warned = steps[at].warned[way]
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
        if (errors := [guess.error("ours") for guess in replay.guesses if guess.times >= least])
    ]
    return [
        *learned,
        at_least("share of true numbers of calls in the range", calls["in the range"], 0.8),
        at_least("share of compactions warned of at least one call ahead", warned["ahead"], 0.95),
        at_most("share of false warnings", warned["false"], 0.05),
    ]
