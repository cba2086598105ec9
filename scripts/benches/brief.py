"""Measures what a brief gives back: how much of what an agent needs later it has after its own compaction, with and
without the brief. No judge, deterministic.

Each recorded compaction with a readable summary is one case: the agent's own summary alone, with the newest messages
that fit into 2,500 tokens more, with Ullage's brief (`lost/brief.py`) of 1,500 and 2,500 tokens, and with the brief of
a compaction in another project, which is the control. The measure is the grounded recall of `quality_probe`: `names`
takes a context as one text, `sentences` (`quality_usable`) only what a reader can use. `all` and `old+mid` are means
over the compactions, in percent, with the 95 % interval of resampled compactions. Names are old, mid or recent by a
tail of the summary's size. `look-ups` are those that the replay of `ullage survive` says must be made again in the next
28 actions, per compaction, and `times agent` is their sum divided by that of the agent's own summary. `cold ms` is the
processor's time to find what was lost and to write the brief, with nothing read before.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from msgspec import Struct

from benches.quality_contenders import tail
from benches.quality_probe import Anchor, Context, Cut, Text, Zone, context_text, grounded_in, make_cut
from benches.quality_sessions import COUNTER, Recorded, read_recorded
from benches.quality_source import Source
from benches.quality_usable import Units, usable_context, usable_texts
from benches.report import Aim, Report, at_least, at_most
from ullage.lost.brief import write_brief
from ullage.lost.finding import find_lost
from ullage.model.blocks import TextBlock
from ullage.model.marker import render_marker
from ullage.model.message import Message, Role
from ullage.redaction.quoting import QUOTE
from ullage.survive.actions import Recorded as Actions
from ullage.survive.actions import recorded_actions
from ullage.survive.bootstrap import Interval, ratio, share
from ullage.survive.replaying import replay
from ullage.survive.study import same_project

LARGE, SMALL = 2_500, 1_500
OWN, TAIL, BRIEF, SMALL_BRIEF, OTHER = "own summary", "+ tail", "+ brief", "+ smaller brief", "+ other's brief"
NAMES, SENTENCES = "names", "sentences"
FEWEST_ANCHORS = 5
# A share is a pair of whole numbers; a mean of shares is a share of these.
_PARTS = 100_000


class Case(Struct, frozen=True, kw_only=True):
    """A recorded compaction, its own summary's text, the briefs, and what the agent did next. `seconds` is what the
    large brief took."""

    project: str
    cut: Cut
    source: Source
    own: str
    briefs: Mapping[int, str]
    actions: Actions
    seconds: float


class Score(Struct, frozen=True, kw_only=True):
    """One context at one compaction: the tokens that it has more than the summary, and the share grounded of all
    anchors and of old and mid ones, None if there are none. `lookups` must be made again; with the summary alone it
    would be `own_lookups`."""

    arm: str
    probe: str
    added: int
    every: float | None
    far: float | None
    lookups: int
    own_lookups: int


def run(paths: Sequence[Path]) -> Report:
    """Returns a row for each arm and probe."""
    cases = [case for recorded in read_recorded(paths) for case in _cases(recorded)]
    scores = [score for number, case in enumerate(cases) for score in _scores(case, _other(cases, number))]
    rows = [
        _row([score for score in scores if (score.arm, score.probe) == (arm, probe)])
        for probe in (NAMES, SENTENCES)
        for arm in dict.fromkeys(score.arm for score in scores)
    ]
    milliseconds = [1000 * case.seconds for case in cases]
    rows.append({"briefs": len(cases), "cold ms, mean": mean(milliseconds or [0]), "most": max(milliseconds or [0])})
    return Report(bench="brief", rows=rows if cases else [], aims=list(_aims(rows)) if cases else [])


def _cases(recorded: Recorded) -> Iterator[Case]:
    for compaction in recorded.compactions:
        cut = make_cut(recorded.messages, recorded.tokens, compaction.at)
        if len(cut.anchors) < FEWEST_ANCHORS:
            continue
        own = render_marker(compaction.block)
        carried = [Message(id="own", role=Role.USER, content=(TextBlock(text=own),))]
        begun = time.process_time()
        losses = find_lost(cut.messages, carried)
        large = write_brief(losses, LARGE, COUNTER.count).text
        seconds = time.process_time() - begun
        small = write_brief(losses, SMALL, COUNTER.count).text
        yield Case(
            project=recorded.name.partition("/")[0],
            cut=cut,
            source=Source(cut.messages),
            own=own,
            briefs={LARGE: large, SMALL: small},
            actions=recorded_actions(recorded.messages, compaction.at, _next(recorded, compaction.at), COUNTER),
            seconds=seconds,
        )


def _next(recorded: Recorded, at: int) -> int:
    """Returns where the conversation ends or its agent compacts again."""
    return min((each.at for each in recorded.compactions if each.at > at), default=len(recorded.messages))


def _other(cases: Sequence[Case], number: int) -> str:
    """Returns the brief of the next compaction in another project; empty if there is none."""
    following = (*cases[number + 1 :], *cases[:number])
    return next((c.briefs[LARGE] for c in following if not same_project(c.project, cases[number].project)), "")


def _scores(case: Case, other: str) -> Iterator[Score]:
    messages = tail(case.cut.messages, LARGE, COUNTER)
    usable = [*usable_texts(case.own, case.source)]
    yield from _score(case, OWN, "", [])
    yield from _score(case, TAIL, context_text(messages).text, usable_context(messages, case.source).texts)
    briefs = {SMALL_BRIEF: case.briefs[SMALL], BRIEF: case.briefs[LARGE], OTHER: other}
    for arm, text in briefs.items():
        plain = "\n".join(line.removeprefix(QUOTE) for line in text.splitlines())
        yield from _score(case, arm, plain, [*usable_texts(plain, case.source)], usable)


def _score(case: Case, arm: str, text: str, units: Sequence[str], usable: Sequence[str] = ()) -> Iterator[Score]:
    contexts: dict[str, Context] = {
        NAMES: Text(f"{case.own}\n{text}"),
        SENTENCES: Units([*(usable or usable_texts(case.own, case.source)), *units]),
    }
    size = COUNTER.count(case.own)
    own_lookups = replay(case.actions, [case.own], 0).lookups
    lookups = replay(case.actions, [case.own, text], 0).lookups
    far = [anchor for anchor in case.cut.anchors if anchor.zone(size) is not Zone.RECENT]
    for probe, context in contexts.items():
        yield Score(
            arm=arm,
            probe=probe,
            added=COUNTER.count(text),
            every=_grounded(context, case.cut.anchors, case.cut.head),
            far=_grounded(context, far, case.cut.head),
            lookups=lookups,
            own_lookups=own_lookups,
        )


def _grounded(context: Context, anchors: Sequence[Anchor], head: Text) -> float | None:
    return sum(grounded_in(context, anchor, head) for anchor in anchors) / len(anchors) if anchors else None


def _row(own: Sequence[Score]) -> dict[str, Any]:
    every, far = _mean([score.every for score in own]), _mean([score.far for score in own])
    again = ratio([(score.lookups, score.own_lookups) for score in own]) or Interval(value=0.0, low=None, high=None)
    return {
        "carried": own[0].arm,
        "probe": own[0].probe,
        "cases": len(own),
        "tokens added": mean(score.added for score in own),
        "all": every.value,
        "all 95 %": _ends(every),
        "old+mid": far.value,
        "old+mid 95 %": _ends(far),
        "look-ups": mean(score.lookups for score in own),
        "times agent": again.value,
        "times 95 %": "-" if again.low is None or again.high is None else f"{again.low:.2f}-{again.high:.2f}",
    }


def _mean(shares: Sequence[float | None]) -> Interval:
    found = share([(round(each * _PARTS), _PARTS) for each in shares if each is not None])
    return found or Interval(value=0.0, low=None, high=None)


def _ends(found: Interval) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:.0f}-{found.high:.0f}"


def _aims(rows: Sequence[Mapping[str, Any]]) -> Iterator[Aim]:
    by_arm = {row["carried"]: row for row in rows if row.get("probe") == NAMES}
    own, ours, other = by_arm[OWN], by_arm[BRIEF], by_arm[OTHER]
    yield at_least("grounded all with a brief", ours["all"], 80)
    yield at_least("grounded old+mid with a brief", ours["old+mid"], 74)
    yield at_most("look-ups with a brief, times the agent's own", ours["times agent"], 0.5)
    yield at_most("points gained by another project's brief", other["all"] - own["all"], 2)
    yield at_most("milliseconds of the slowest brief, cold", rows[-1]["most"], 300)
