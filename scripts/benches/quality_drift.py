"""Drift: how many of the anchors that the first compaction kept are left after five compactions in a row.

A conversation is compacted where a model would be asked at 40, 50, 60, 70 and 80 % of its tokens, each time to the same
budget, and continues in between as recorded. The bench follows the old anchors of the first cut that the first
compaction kept, grounded among the words of the first head. Anchors of all conversations are counted together, since
each conversation has few. `untouched` anchors were not named again in any message before the fifth cut, so only the
summaries can have carried them. `mid and old` follows the mid anchors, too.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from benches.quality_probe import Anchor, Cut, Text, Zone, context_text, grounded_in, make_cut, text_of
from benches.quality_sessions import Recorded, fit, open_recorded
from benches.report import Aim, at_least
from ullage.service import sessions

BUDGETS = (4_000, 8_000)
CUTS = (0.4, 0.5, 0.6, 0.7, 0.8)
HEAD_FACTOR = 4
AIM = 80


class Survival(Struct, frozen=True, kw_only=True):
    """The anchors of one conversation that were not in the first tail: those that the first compaction kept, those
    that the fifth kept, and those of the first that no message between the cuts names."""

    budget: int
    first: tuple[Anchor, ...]
    last: tuple[Anchor, ...]
    untouched: tuple[Anchor, ...]


async def drift_rows(recorded: Sequence[Recorded]) -> tuple[list[dict[str, Any]], list[Aim]]:
    """Returns a row per budget and set of anchors, and an aim for the old anchors of each budget."""
    survivals = [s for budget in BUDGETS for each in recorded if (s := await _follow(each, budget)) is not None]
    rows = [
        _row(budget, zones, [survival for survival in survivals if survival.budget == budget])
        for budget in BUDGETS
        for zones in ((Zone.OLD,), (Zone.MID, Zone.OLD))
    ]
    rows = [row for row in rows if row["anchors"]]
    aims = [
        at_least(f"drift: old anchors after five compactions at {row['budget']}", row["survive"], AIM)
        for row in rows
        if row["zones"] == Zone.OLD
    ]
    return rows, aims


def _row(budget: int, zones: Sequence[Zone], survivals: Sequence[Survival]) -> dict[str, Any]:
    first = [[a for a in survival.first if a.zone(budget) in zones] for survival in survivals]
    untouched = [[a for a in named if a in s.untouched] for named, s in zip(first, survivals, strict=True)]
    return {
        "budget": budget,
        "contender": "drift",
        "zones": " and ".join(zones),
        "conversations": sum(bool(anchors) for anchors in first),
        "anchors": sum(map(len, first)),
        "survive": _share(first, survivals),
        "untouched anchors": sum(map(len, untouched)),
        "untouched survive": _share(untouched, survivals),
    }


def _share(followed: Sequence[Sequence[Anchor]], survivals: Sequence[Survival]) -> float:
    left = sum(a in s.last for anchors, s in zip(followed, survivals, strict=True) for a in anchors)
    return 100 * left / max(1, sum(map(len, followed)))


async def _follow(recorded: Recorded, budget: int) -> Survival | None:
    total = sum(recorded.tokens)
    places = [place for share in CUTS if (place := recorded.place(share * total)) is not None]
    if len(set(places)) < len(CUTS) or sum(recorded.tokens[: places[0]]) < HEAD_FACTOR * budget:
        return None
    cut = make_cut(recorded.messages, recorded.tokens, places[0])
    far = [anchor for anchor in cut.anchors if anchor.zone(budget) is not Zone.RECENT]
    between = Text("\n".join(text_of(message) for message in recorded.messages[places[0] : places[-1]]))
    first, *_, last = await _compact_in_a_row(recorded, places, budget, cut, far)
    return Survival(
        budget=budget,
        first=first,
        last=last,
        untouched=tuple(anchor for anchor in first if not between.holds(anchor.name)),
    )


async def _compact_in_a_row(
    recorded: Recorded, places: Sequence[int], budget: int, cut: Cut, followed: Sequence[Anchor]
) -> list[tuple[Anchor, ...]]:
    """Returns the anchors of `followed` that are left after each compaction."""
    left: list[tuple[Anchor, ...]] = []
    async with open_recorded(cut.messages) as (workspace, session_id):
        for start, stop in zip([places[0], *places], places, strict=False):
            await sessions.append(workspace.open(session_id), list(recorded.messages[start:stop]), None)
            context = context_text((await fit(workspace, session_id, budget)).messages)
            left.append(tuple(anchor for anchor in followed if grounded_in(context, anchor, cut.head)))
    return left
