"""Measures what each number of the summary's `Tuning` contributes: `./scripts/bench quality --ablate [--cuts N]`.

Each number is set to 0, one at a time, and all trials are fitted again. A row gives the grounded recall that is lost by
that, in points (hundredths of all carried anchors, as in `quality`, averaged over sessions). A positive figure means
that the number helps. `error` is the standard error of the mean over sessions and columns.

The fits are made by the pure core (plan, compose, finish), with one try each. `fit_budget` is not used, because it
tries again to use up the rest of the budget. `--cuts` is the number of cuts of each session (default 3: about 200
trials on 17 long sessions, about ten seconds per number). A trial of the column `second` compacts again what was
compacted at an earlier cut of the same session. No trial has a focus, and the measure does not cover how readable a
summary is: see server/ullage/summary/README.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.scoring import Judge
from ullage.summary.reading.text_reader import Reader
from ullage.summary.tuning import TUNING, Tuning

from benches.quality_probe import WORDS_SHARED, context_text, make_cut
from benches.quality_sessions import COUNTER, Recorded, read_recorded
from benches.report import Report, at_least
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView, Stamp, count_view
from ullage.edits.shorten import cap_blocks
from ullage.model.message import Message
from ullage.service.plan.plan import BLOCK_SHARE, keep_old
from ullage.summary.checks import go_on
from ullage.summary.summary_request import SummaryRequest
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import leading
from ullage.transcript.rules.tool_pairs import is_pure_prompt
from ullage.transcript.view import Item

BUDGETS = (4_000, 8_000, 16_000)
CUTS = 3
_FIRST_CUT, _LAST_CUT = 0.4, 0.85
HEAD_FACTOR = 3
FEWEST_ANCHORS = 5
# Points. A number that contributes less is not worth keeping.
WORTH = 0.3
SECOND = "second"
_STAMP = Stamp(id="e", timestamp=0)


class Trial(Struct, frozen=True, kw_only=True):
    """One fit: the session's name, the view before the cut, its messages' originals, the budget in tokens, the label
    of the column, and for each anchor that is carried over the cut the words around its places."""

    session: str
    label: str
    budget: int
    view: CountedView
    originals: Mapping[str, Message]
    around: Mapping[str, frozenset[frozenset[str]]]


def run(paths: Sequence[Path], cuts: int = CUTS) -> Report:
    """Returns a row for the unchanged `Tuning` and one per number. The aims are that each number contributes enough."""
    reader = Reader()
    shares = [_FIRST_CUT + (_LAST_CUT - _FIRST_CUT) * i / max(cuts - 1, 1) for i in range(cuts)]
    trials = [trial for recorded in read_recorded(paths) for trial in trials_of(recorded, shares, reader)]
    base = recall(trials, TUNING, reader)
    names: dict[str, float] = asdict(TUNING)
    rows = [_row(name, base, recall(trials, replace(TUNING, **{name: 0.0}), reader)) for name in names]
    aims = [at_least(f"{row['number']} buys, in points, in its best column", row["largest"], WORTH) for row in rows]
    return Report(bench="ablation", rows=[_base_row(trials, base), *rows], aims=aims)


def recall(trials: Sequence[Trial], tuning: Tuning, reader: Reader) -> list[tuple[Trial, int]]:
    """Returns how many carried anchors are grounded in each trial's context."""
    return [(trial, _grounded(trial, fit(trial, tuning, reader))) for trial in trials]


def fit(trial: Trial, tuning: Tuning, reader: Reader) -> CountedView:
    """Returns the trial's view after a compaction to its budget."""
    return _compacted(trial.view, trial.originals, trial.budget, tuning, reader)


def _compacted(
    view: CountedView, originals: Mapping[str, Message], budget: int, tuning: Tuning, reader: Reader
) -> CountedView:
    messages = view.messages
    first = next((message.id for message in messages if is_pure_prompt(message)), None)
    staying = frozenset({*leading(messages, first), *(messages[i].id for i in groups(messages)[-1])})
    capped = cap_blocks(view, int(budget * BLOCK_SHARE), _STAMP, staying)
    view = view.after(capped) if capped else view
    limits = CompactionLimits(target=budget, keep_tail=budget, summary=budget, keep_old=keep_old(budget))
    plan = plan_compaction(view, limits, (), first, partial(Judge, reader, go_on))
    if plan is None:
        return view
    request = SummaryRequest(
        messages=tuple(originals[item.message.id] for item in plan.head),
        indices=tuple(item.index for item in plan.head),
        max_tokens=plan.summary_tokens,
        previous=plan.previous,
        kept=(*plan.leading, *plan.kept),
        tail=tuple(item.message for item in view.items if item.index >= plan.end),
    )
    composed = compose(request, COUNTER, reader, go_on, tuning)
    summary = Summary(text=composed.summary, ledger=composed.ledger, summarizer="offline")
    number = plan.previous.compaction_number + 1 if plan.previous else 1
    return view.after(finish_compaction(plan, view, _STAMP, summary, number))


def trials_of(recorded: Recorded, shares: Sequence[float], reader: Reader) -> Iterator[Trial]:
    """Yields the trials of a session that is cut at these shares of its tokens."""
    total = sum(recorded.tokens)
    places = sorted({place for share in shares if (place := recorded.place(share * total)) is not None})
    originals = {message.id: message for message in recorded.messages}
    cuts = {place: make_cut(recorded.messages, recorded.tokens, place) for place in places}
    for budget in BUDGETS:
        for place, cut in cuts.items():
            if sum(recorded.tokens[:place]) < HEAD_FACTOR * budget or len(cut.anchors) < FEWEST_ANCHORS:
                continue
            trial = Trial(
                session=recorded.name,
                label=str(budget),
                budget=budget,
                view=count_view(cut.messages, COUNTER),
                originals=originals,
                around={anchor.name: frozenset(cut.head.windows(anchor.name)) for anchor in cut.anchors},
            )
            yield trial
            earlier = [each for each in places if sum(recorded.tokens[each:place]) >= budget]
            if earlier and sum(recorded.tokens[: earlier[-1]]) >= HEAD_FACTOR * budget:
                view = count_view(recorded.messages[: earlier[-1]], COUNTER)
                once = _compacted(view, originals, budget, TUNING, reader)
                yield replace(trial, label=SECOND, view=_going_on(once, recorded, earlier[-1], place))


def _going_on(view: CountedView, recorded: Recorded, start: int, stop: int) -> CountedView:
    """Returns a compacted view with the messages from `start` up to `stop` after it."""
    later = [Item(index, recorded.messages[index]) for index in range(start, stop)]
    return CountedView(
        items=(*view.items, *later),
        tokens=[*view.tokens, *recorded.tokens[start:stop]],
        fixed=view.fixed,
        measure=view.measure,
    )


def _grounded(trial: Trial, view: CountedView) -> int:
    context = context_text(view.messages)
    found = 0
    for name, known in trial.around.items():
        here = set(context.windows(name))
        found += any(len(window & there) >= min(WORDS_SHARED, len(there)) for there in known for window in here)
    return found


Recall = Sequence[tuple[Trial, int]]


def _shares(recall: Recall, label: str) -> dict[str, float]:
    """Returns the points of each session in one column: the share of the carried anchors that are grounded, in
    percent."""
    carried: dict[str, int] = {}
    kept: dict[str, int] = {}
    for trial, found in recall:
        if trial.label == label:
            carried[trial.session] = carried.get(trial.session, 0) + len(trial.around)
            kept[trial.session] = kept.get(trial.session, 0) + found
    return {session: 100 * kept[session] / carried[session] for session in carried}


def _labels() -> tuple[str, ...]:
    return (*(str(budget) for budget in BUDGETS), SECOND)


def _base_row(trials: Sequence[Trial], base: Recall) -> dict[str, Any]:
    shares = {label: _shares(base, label) for label in _labels()}
    return {
        "number": "all as they are",
        "sessions": len({trial.session for trial in trials}),
        "trials": len(trials),
        **{label: mean(points.values() or [0.0]) for label, points in shares.items()},
    }


def _row(name: str, base: Recall, without: Recall) -> dict[str, Any]:
    lost: dict[str, list[float]] = {}
    for label in _labels():
        before, after = _shares(base, label), _shares(without, label)
        lost[label] = [before[session] - after[session] for session in before]
    every = [points for label in lost.values() for points in label]
    means = {label: mean(points or [0.0]) for label, points in lost.items()}
    return {
        "number": name,
        "value": getattr(TUNING, name),
        **means,
        "error": stdev(every) / len(every) ** 0.5 if len(every) > 1 else 0.0,
        "largest": max(means.values()),
    }
