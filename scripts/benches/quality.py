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

The column `probe` says what is scored: `names` takes the context as one text, `sentences` only the sentences and
passages that a reader can use (`quality_usable`). Further tables measure what a reader gets (`quality_form`):
user messages word for word (`quality_words`), false state (`quality_state`: false claims / judged ones (all)),
decisions that decide nothing (`quality_prose`), lines of code out of context (`quality_source`), and an earlier
summary's sentences kept in order (`quality_earlier`). `--sessions N` measures few conversations. Conversations that
their agent never compacted have no rows of real compactions.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from msgspec import Struct

from benches.quality_actions import read_actions
from benches.quality_contenders import CONTENDERS, unpaired
from benches.quality_drift import drift_rows
from benches.quality_earlier import earlier_rows
from benches.quality_form import Form, Head, Shown, form_aims, form_rows, measure_form
from benches.quality_probe import Context, Cut, Text, Zone, context_text, found_in, grounded_in, make_cut
from benches.quality_sessions import COUNTER, Recorded, fit_once, read_recorded
from benches.quality_source import Source
from benches.quality_usable import Units, usable_context, usable_texts
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
NAMES, SENTENCES = "names", "sentences"
# Grounded recall in percent, by probe and budget: of all anchors, and of old and mid ones.
AIMS: dict[tuple[str, int | str], tuple[int, int]] = {
    (NAMES, 4_000): (80, 60),
    (NAMES, 8_000): (88, 65),
    (NAMES, 16_000): (94, 75),
    (SENTENCES, REAL): (70, 62),
}


class Trial(Struct, frozen=True, kw_only=True):
    """A cut and the tokens that every contender gets there. `label` names its rows."""

    recorded: str
    cut: Cut
    head: Head
    budget: int
    label: int | str


class Score(Struct, frozen=True, kw_only=True):
    """One contender at one cut: carried anchors by zone, anchors found, anchors grounded, the context's share of the
    budget, and the number of providers' rules that it breaks. `budget` is in tokens, or names the source of the
    budget."""

    contender: str
    probe: str
    budget: int | str
    recorded: str
    carried: dict[Zone, int]
    found: dict[Zone, int]
    grounded: dict[Zone, int]
    used: float
    violations: int


def run(paths: Sequence[Path], sessions: int | None = None) -> Report:
    """Returns rows per budget, probe and contender, for Ullage also per part, then the rows of form, earlier summaries
    and drift. The aims hold for all conversations together. `sessions` bounds their number."""
    recorded = read_recorded(paths, sessions)
    measured = [found for each in recorded for found in _measure(each)]
    scores = [found for found in measured if isinstance(found, Score)]
    forms = [found for found in measured if isinstance(found, Form)]
    if not scores:
        return Report(bench="quality", rows=[], aims=[])
    rows = _score_rows(scores)
    earlier, earlier_aims = asyncio.run(earlier_rows(recorded, (OURS, THEIRS)))
    drift, drift_aims = asyncio.run(drift_rows(recorded))
    aims = [*_aims(rows, scores), *form_aims(forms, OURS, REAL), *earlier_aims, *drift_aims]
    return Report(bench="quality", rows=[*rows, *form_rows(forms), *earlier, *drift], aims=aims)


def _score_rows(scores: Sequence[Score]) -> list[dict[str, Any]]:
    names = sorted({score.recorded for score in scores})
    parts = {ALL: set(names), DEVELOPMENT: set(names[::2]), HELD_OUT: set(names[1::2])}
    grouped = [
        ([s for s in scores if (s.budget, s.probe, s.contender) == key and s.recorded in parts[part]], part)
        for budget in (*BUDGETS, REAL)
        for probe in (NAMES, SENTENCES)
        for contender in (*CONTENDERS, THEIRS, OURS)
        for key in [(budget, probe, contender)]
        for part in (parts if contender == OURS else (ALL,))
    ]
    return [_row(own, part) for own, part in grouped if own]


def _measure(recorded: Recorded) -> Iterator[Score | Form]:
    heads: dict[int, Head] = {}
    for budget in BUDGETS:
        for cut in _cuts(recorded, budget):
            head = heads.setdefault(len(cut.messages), _head(cut))
            yield from _contend(Trial(recorded=recorded.name, cut=cut, head=head, budget=budget, label=budget))
    for compaction in recorded.compactions:
        cut = make_cut(recorded.messages, recorded.tokens, compaction.at)
        text, head = render_marker(compaction.block), _head(cut)
        trial = Trial(recorded=recorded.name, cut=cut, head=head, budget=COUNTER.count(text), label=REAL)
        yield from _score(trial, THEIRS, (Text(text), Units([*usable_texts(text, head.source)])), trial.budget, 0)
        shown = Shown(contender=THEIRS, budget=REAL, page=text, context=text, room=trial.budget)
        yield measure_form(head, shown, COUNTER)
        yield from _contend(trial)


def _head(cut: Cut) -> Head:
    return Head(messages=cut.messages, source=Source(cut.messages), actions=tuple(read_actions(cut.messages)))


def _cuts(recorded: Recorded, budget: int) -> Iterator[Cut]:
    total = sum(recorded.tokens)
    places = {place for share in CUTS if (place := recorded.place(share * total)) is not None}
    for place in sorted(places):
        if sum(recorded.tokens[:place]) >= HEAD_FACTOR * budget:
            cut = make_cut(recorded.messages, recorded.tokens, place)
            if len(cut.anchors) >= FEWEST_ANCHORS:
                yield cut


def _contend(trial: Trial) -> Iterator[Score | Form]:
    for name, contender in CONTENDERS.items():
        messages = contender(trial.cut.messages, trial.budget, COUNTER)
        yield from _score_messages(trial, name, messages, 0)
    fitted = asyncio.run(fit_once(trial.cut.messages, trial.budget))
    wrong = anthropic_violations(fitted.requests["anthropic"]) + openai_violations(fitted.requests["openai"])
    yield from _score_messages(trial, OURS, fitted.messages, len(wrong))
    page = "\n".join(render_marker(block) for message in fitted.messages if (block := message.compaction))
    context = context_text(fitted.messages).text
    shown = Shown(contender=OURS, budget=trial.label, page=page, context=context, room=trial.budget)
    yield measure_form(trial.head, shown, COUNTER)


def _score_messages(trial: Trial, contender: str, messages: Sequence[Message], violations: int) -> Iterator[Score]:
    used = sum(COUNTER.count_message(message) for message in messages)
    broken = violations + unpaired(messages, trial.cut.messages) + (used > trial.budget)
    contexts = context_text(messages), usable_context(messages, trial.head.source)
    yield from _score(trial, contender, contexts, used, broken)


def _score(trial: Trial, contender: str, contexts: tuple[Text, Units], used: int, violations: int) -> Iterator[Score]:
    """Yields the scores of both probes; none if few anchors are carried over the cut."""
    cut = trial.cut
    if len(cut.anchors) < FEWEST_ANCHORS:
        return
    carried = {zone: [anchor for anchor in cut.anchors if anchor.zone(trial.budget) is zone] for zone in Zone}

    def counted(probe: str, context: Context) -> Score:
        return Score(
            contender=contender,
            probe=probe,
            budget=trial.label,
            recorded=trial.recorded,
            carried={zone: len(anchors) for zone, anchors in carried.items()},
            found={zone: sum(found_in(context, a) for a in anchors) for zone, anchors in carried.items()},
            grounded={
                zone: sum(grounded_in(context, a, cut.head) for a in anchors) for zone, anchors in carried.items()
            },
            used=used / trial.budget,
            violations=violations,
        )

    yield counted(NAMES, contexts[0])
    yield counted(SENTENCES, contexts[1])


def _row(own: Sequence[Score], part: str) -> dict[str, Any]:
    by_name = [[score for score in own if score.recorded == name] for name in sorted({s.recorded for s in own})]
    zones = {"all": tuple(Zone), "old+mid": (Zone.MID, Zone.OLD), **{zone.value: (zone,) for zone in Zone}}
    return {
        "budget": own[0].budget,
        "probe": own[0].probe,
        "contender": own[0].contender,
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
        key = row["probe"], row["budget"]
        if row["contender"] == OURS and row["part"] == ALL and key in AIMS:
            every, far = AIMS[key]
            where = f"at {row['budget']}, {row['probe']}"
            yield at_least(f"grounded all {where}", row["grounded all"], every)
            yield at_least(f"grounded old+mid {where}", row["grounded old+mid"], far)
    ours = [score for score in scores if score.contender == OURS and score.probe == NAMES]
    yield at_least("share of the budget used, worst", min((score.used for score in ours), default=0.0), 0.95)
    yield at_most("share of the budget used, largest", max((score.used for score in ours), default=0.0), 1.0)
    yield at_most("rules of providers broken", sum(score.violations for score in ours), 0)
