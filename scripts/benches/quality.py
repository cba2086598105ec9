"""Measures whether the contexts that Ullage fits are valid, and how many of the names that an agent needs later they
have. No judge, deterministic.

Every fitted context is checked by the providers' rules and against its budget. Names are the second figure, by
carried-anchor recall (`quality_probe`), next to other ways to fit a conversation (`quality_contenders`). What a context
says of the state of work is measured by the bench `state`.

Cuts are at the places where a model would be asked, at 30, 45, 60, 75 and 90 % of a conversation's tokens, for each
budget of which the head has at least three. Rows named `real compaction` use the places where the recorded agent
compacted: its own summary is the whole context there, and the contenders get a budget of that summary's size. Where
Ullage refuses a budget, because the user's newest message alone is larger, nothing is compared; `refused` counts these.

Names are counted at cuts over which at least five are carried. `names` is the share of them, in percent, that the
context has; `grounded` the share that it has among words that were around them; `grounded old+mid` only counts names
whose last place is before a tail of the budget. Shares are taken over all cuts of a conversation, then averaged over
conversations, so that no long conversation outweighs the others. `ullage - baseline` is the difference to `BASELINE`,
newest messages and quoted lines.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from msgspec import Struct

from benches.quality_contenders import BASELINE, CONTENDERS, unpaired
from benches.quality_probe import Cut, Text, context_text, grounded_in, make_cut
from benches.quality_sessions import COUNTER, Recorded, fit_once, read_recorded
from benches.report import Aim, Report, at_least, at_most
from support.provider_rules import anthropic_violations, openai_violations
from ullage.model.marker import render_marker

BUDGETS = (4_000, 8_000, 16_000, 32_000)
CUTS = (0.3, 0.45, 0.6, 0.75, 0.9)
HEAD_FACTOR = 3
FEWEST_ANCHORS = 5
OURS, THEIRS, REAL, DIFFERENCE = "ullage", "own summary", "real compaction", "ullage - baseline"
# Points of names that Ullage may be under the baseline.
MOST_UNDER = 2.0
_WORKERS = 2
_FIGURES = ("names", "grounded", "grounded old+mid")


class Place(Struct, frozen=True, kw_only=True):
    """A cut, and the tokens that every contender gets there. `label` names its rows; `summary` is what the recorded
    agent kept."""

    recorded: str
    cut: Cut
    budget: int
    label: int | str
    summary: str = ""


class Score(Struct, frozen=True, kw_only=True):
    """One contender at one place. `shares` are, for each of the figures, how many names the context has, of how many.
    `used` is the context's share of the budget, `violations` the number of rules that it breaks."""

    contender: str
    label: int | str
    recorded: str
    shares: tuple[tuple[int, int], ...]
    used: float
    violations: int


def run(paths: Sequence[Path], sessions: int | None = None) -> Report:
    """Returns a row per budget and contender. `sessions` bounds the number of conversations."""
    with ProcessPoolExecutor(_WORKERS) as pool:
        measured = [each for many in pool.map(_measure, read_recorded(paths, sessions)) for each in many]
    scores = [each for each in measured if isinstance(each, Score)]
    refused = Counter(each.label for each in measured if isinstance(each, Place))
    rows = [
        _row(own, refused[label])
        for label in (*BUDGETS, REAL)
        for contender in (*CONTENDERS, THEIRS, OURS)
        if (own := [score for score in scores if (score.label, score.contender) == (label, contender)])
    ]
    differences = list(_differences(rows))
    return Report(bench="quality", rows=[*rows, *differences], aims=[*_aims(scores), *_names_aims(differences)])


def _measure(recorded: Recorded) -> list[Score | Place]:
    """Returns the scores at all places of a conversation, and the places where Ullage refuses."""
    total = sum(recorded.tokens)
    wanted = {place for share in CUTS if (place := recorded.place(share * total)) is not None}
    found: list[Score | Place] = []
    for at in sorted(wanted):
        cut = make_cut(recorded.messages, recorded.tokens, at)
        for budget in BUDGETS:
            if sum(recorded.tokens[:at]) >= HEAD_FACTOR * budget:
                found += _contend(Place(recorded=recorded.name, cut=cut, budget=budget, label=budget))
    for compaction in recorded.compactions:
        cut = make_cut(recorded.messages, recorded.tokens, compaction.at)
        text = render_marker(compaction.block)
        found += _contend(Place(recorded=recorded.name, cut=cut, budget=COUNTER.count(text), label=REAL, summary=text))
    return found


def _contend(place: Place) -> Iterator[Score | Place]:
    fitted = asyncio.run(fit_once(place.cut.messages, place.budget))
    if fitted is None:
        yield place
        return
    if place.summary:
        yield _score(place, THEIRS, Text(place.summary), place.budget, 0)
    wrong = anthropic_violations(fitted.requests["anthropic"]) + openai_violations(fitted.requests["openai"])
    made = {name: contender(place.cut.messages, place.budget, COUNTER) for name, contender in CONTENDERS.items()}
    for name, messages in (made | {OURS: [*fitted.messages]}).items():
        used = sum(COUNTER.count_message(message) for message in messages)
        broken = unpaired(messages, place.cut.messages) + (used > place.budget) + (len(wrong) if name == OURS else 0)
        yield _score(place, name, context_text(messages), used, broken)


def _score(place: Place, contender: str, context: Text, used: int, violations: int) -> Score:
    cut = place.cut
    anchors = cut.anchors if len(cut.anchors) >= FEWEST_ANCHORS else ()
    grounded = [anchor for anchor in anchors if grounded_in(context, anchor, cut.head)]
    far = [anchor for anchor in anchors if anchor.distance > place.budget]
    return Score(
        contender=contender,
        label=place.label,
        recorded=place.recorded,
        shares=(
            (sum(context.holds(anchor.name) for anchor in anchors), len(anchors)),
            (len(grounded), len(anchors)),
            (sum(anchor in far for anchor in grounded), len(far)),
        ),
        used=used / place.budget,
        violations=violations,
    )


def _row(own: Sequence[Score], refused: int) -> dict[str, Any]:
    return {
        "budget": own[0].label,
        "contender": own[0].contender,
        "cuts": len(own),
        "refused": refused,
        "of names": sum(score.shares[0][1] for score in own),
        **{name: _recall(own, figure) for figure, name in enumerate(_FIGURES)},
        "used": mean(score.used for score in own),
        "least used": min(score.used for score in own),
        "violations": sum(score.violations for score in own),
    }


def _recall(own: Sequence[Score], figure: int) -> float:
    """Returns the mean of the conversations' shares, in percent."""
    shares: list[float] = []
    for name in {score.recorded: None for score in own}:
        counted = [score.shares[figure] for score in own if score.recorded == name]
        if carried := sum(of for _, of in counted):
            shares.append(100 * sum(kept for kept, _ in counted) / carried)
    return mean(shares or [0.0])


def _differences(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    of = {(row["budget"], row["contender"]): row for row in rows}
    for (budget, contender), row in of.items():
        if contender == OURS:
            baseline = of[budget, BASELINE]
            yield {"budget": budget, DIFFERENCE: "points", **{name: row[name] - baseline[name] for name in _FIGURES}}


def _aims(scores: Sequence[Score]) -> Iterator[Aim]:
    ours = [score for score in scores if score.contender == OURS]
    if ours:
        yield at_most("rules of providers broken", sum(score.violations for score in ours), 0)
        yield at_most("share of the budget used, largest", max(score.used for score in ours), 1.0)
        yield at_least("share of the budget used, least", min(score.used for score in ours), 0.95)


def _names_aims(differences: Sequence[dict[str, Any]]) -> Iterator[Aim]:
    for row in differences:
        for name in _FIGURES[:2]:
            yield at_least(f"{name} at {row['budget']}, {DIFFERENCE}", row[name], -MOST_UNDER)
