"""Measures how much of what an agent needs later is still in the context after Ullage made room. No judge,
deterministic.

The measure is carried-anchor recall (`quality_probe`): names that the agent itself writes after a cut, that were in a
message before the cut, and that no tool result or user message after the cut showed first. Cuts are at the places where
a model would be asked, at 30, 45, 60, 75 and 90 % of a conversation's tokens. A cut counts for a budget if the head is
at least three budgets large and at least five anchors are carried over the cut. Shares are taken over all cuts of a
conversation, then averaged over conversations, so that no long conversation outweighs the others. `median` is the
middle conversation's `grounded all`. Every second conversation belongs to the `held-out` part; the engine was developed
on the others.

Rows named `real compaction` use the places where the recorded agent compacted: its summary is the whole context, and
the contenders get a budget of that summary's size. `drift` (`quality_drift`) compacts five times in a row.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from msgspec import Struct

from benches.quality_contenders import CONTENDERS, unpaired
from benches.quality_drift import drift_rows
from benches.quality_probe import Cut, Text, Zone, context_text, found_in, grounded_in, make_cut
from benches.quality_sessions import COUNTER, Recorded, fit_once, read_recorded
from benches.report import Aim, Report, at_least, at_most, median
from support.provider_rules import anthropic_violations, openai_violations
from ullage.model.marker import render_marker
from ullage.model.message import Message

BUDGETS = (4_000, 8_000, 16_000, 32_000)
CUTS = (0.3, 0.45, 0.6, 0.75, 0.9)
HEAD_FACTOR = 3
FEWEST_ANCHORS = 5
OURS, THEIRS, REAL = "ullage", "own summary", "real compaction"
DEVELOPMENT, HELD_OUT, ALL = "development", "held-out", "all"
# Grounded recall in percent: of all anchors, and of old and mid ones.
AIMS: dict[int | str, tuple[int, int]] = {4_000: (80, 60), 8_000: (88, 65), 16_000: (94, 75), REAL: (75, 62)}


class Trial(Struct, frozen=True, kw_only=True):
    """A cut and the tokens that every contender gets there. `label` names its rows."""

    recorded: str
    cut: Cut
    budget: int
    label: int | str


class Score(Struct, frozen=True, kw_only=True):
    """One contender at one cut: carried anchors by zone, anchors found, anchors grounded, the context's share of the
    budget, and the number of providers' rules that it breaks. `budget` is in tokens, or names the source of the
    budget."""

    contender: str
    budget: int | str
    recorded: str
    carried: dict[Zone, int]
    found: dict[Zone, int]
    grounded: dict[Zone, int]
    used: float
    violations: int


def run(paths: Sequence[Path]) -> Report:
    """Returns rows per budget and contender, for Ullage also per part. The aims hold for all conversations together."""
    recorded = read_recorded(paths)
    scores = [score for each in recorded for score in _scores(each)]
    names = sorted({score.recorded for score in scores})
    parts = {ALL: set(names), DEVELOPMENT: set(names[::2]), HELD_OUT: set(names[1::2])}
    rows = [
        _row([score for score in scores if score.budget == budget and score.recorded in parts[part]], contender, part)
        for budget in (*BUDGETS, REAL)
        for contender in (*CONTENDERS, THEIRS, OURS)
        for part in (parts if contender == OURS else (ALL,))
        if any(s.contender == contender and s.budget == budget and s.recorded in parts[part] for s in scores)
    ]
    drift, drift_aims = asyncio.run(drift_rows(recorded))
    return Report(bench="quality", rows=[*rows, *drift], aims=[*_aims(rows, scores), *drift_aims])


def _scores(recorded: Recorded) -> Iterator[Score]:
    for budget in BUDGETS:
        for cut in _cuts(recorded, budget):
            yield from _contend(Trial(recorded=recorded.name, cut=cut, budget=budget, label=budget))
    for compaction in recorded.compactions:
        cut = make_cut(recorded.messages, recorded.tokens, compaction.at)
        if len(cut.anchors) >= FEWEST_ANCHORS:
            text = render_marker(compaction.block)
            trial = Trial(recorded=recorded.name, cut=cut, budget=COUNTER.count(text), label=REAL)
            yield _score(trial, THEIRS, Text(text), trial.budget, 0)
            yield from _contend(trial)


def _cuts(recorded: Recorded, budget: int) -> Iterator[Cut]:
    total = sum(recorded.tokens)
    places = {place for share in CUTS if (place := recorded.place(share * total)) is not None}
    for place in sorted(places):
        if sum(recorded.tokens[:place]) >= HEAD_FACTOR * budget:
            cut = make_cut(recorded.messages, recorded.tokens, place)
            if len(cut.anchors) >= FEWEST_ANCHORS:
                yield cut


def _contend(trial: Trial) -> Iterator[Score]:
    for name, contender in CONTENDERS.items():
        messages = contender(trial.cut.messages, trial.budget, COUNTER)
        yield _score_messages(trial, name, messages, 0)
    fitted = asyncio.run(fit_once(trial.cut.messages, trial.budget))
    wrong = anthropic_violations(fitted.requests["anthropic"]) + openai_violations(fitted.requests["openai"])
    yield _score_messages(trial, OURS, fitted.messages, len(wrong))


def _score_messages(trial: Trial, contender: str, messages: Sequence[Message], violations: int) -> Score:
    used = sum(COUNTER.count_message(message) for message in messages)
    broken = violations + unpaired(messages) + (used > trial.budget)
    return _score(trial, contender, context_text(messages), used, broken)


def _score(trial: Trial, contender: str, context: Text, used: int, violations: int) -> Score:
    cut = trial.cut
    carried = {zone: [anchor for anchor in cut.anchors if anchor.zone(trial.budget) is zone] for zone in Zone}
    return Score(
        contender=contender,
        budget=trial.label,
        recorded=trial.recorded,
        carried={zone: len(anchors) for zone, anchors in carried.items()},
        found={zone: sum(found_in(context, a) for a in anchors) for zone, anchors in carried.items()},
        grounded={zone: sum(grounded_in(context, a, cut.head) for a in anchors) for zone, anchors in carried.items()},
        used=used / trial.budget,
        violations=violations,
    )


def _row(scores: Sequence[Score], contender: str, part: str) -> dict[str, Any]:
    own = [score for score in scores if score.contender == contender]
    by_name = [[score for score in own if score.recorded == name] for name in sorted({s.recorded for s in own})]
    zones = {"all": tuple(Zone), "old+mid": (Zone.MID, Zone.OLD), **{zone.value: (zone,) for zone in Zone}}
    return {
        "budget": own[0].budget,
        "contender": contender,
        "part": part,
        "cuts": len(own),
        "anchors": sum(sum(score.carried.values()) for score in own),
        **{what: _mean(by_name, wanted, grounded=False) for what, wanted in zones.items()},
        **{f"grounded {what}": _mean(by_name, wanted, grounded=True) for what, wanted in zones.items()},
        "median": median(_shares(by_name, tuple(Zone), grounded=True)),
        "used": mean(score.used for score in own),
        "violations": sum(score.violations for score in own),
    }


def _mean(by_name: Iterable[Sequence[Score]], zones: Sequence[Zone], *, grounded: bool) -> float:
    return mean(_shares(by_name, zones, grounded=grounded) or [0.0])


def _shares(by_name: Iterable[Sequence[Score]], zones: Sequence[Zone], *, grounded: bool) -> list[float]:
    """Returns the recall, in percent, of each conversation with carried anchors in these zones."""
    shares: list[float] = []
    for scores in by_name:
        carried = sum(score.carried[zone] for score in scores for zone in zones)
        kept = sum((score.grounded if grounded else score.found)[zone] for score in scores for zone in zones)
        if carried:
            shares.append(100 * kept / carried)
    return shares


def _aims(rows: Sequence[dict[str, Any]], scores: Sequence[Score]) -> Iterator[Aim]:
    for row in rows:
        if row["contender"] == OURS and row["part"] == ALL and row["budget"] in AIMS:
            every, far = AIMS[row["budget"]]
            yield at_least(f"grounded all at {row['budget']}", row["grounded all"], every)
            yield at_least(f"grounded old+mid at {row['budget']}", row["grounded old+mid"], far)
    ours = [score for score in scores if score.contender == OURS]
    yield at_least("share of the budget used, worst", min((score.used for score in ours), default=0.0), 0.95)
    yield at_most("share of the budget used, largest", max((score.used for score in ours), default=0.0), 1.0)
    yield at_most("rules of providers broken", sum(score.violations for score in ours), 0)
