"""Compactions that are planned and not yet applied."""

from msgspec import Struct

from ullage.edits.compaction import CompactionPlan, Summary
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import BroughtBack
from ullage.model.edits import ShortenEdit


class Planned(Struct, frozen=True, kw_only=True):
    """A compaction that lacks only its summary.

    `number`: the compaction's number in the session, from 1. `edits_seen`: the conversation's `edits_seen` when the
    plan was made; if it has changed, the plan is invalid. `cuts`: edits that shorten huge blocks and are applied
    together with the compaction. `private`: regular expressions; matching text must not appear in the summary.
    `brought_back`: instruction files that the marker names or includes. `note`: how the plan differs from the user's
    request, empty if it does not.
    """

    view: CountedView
    plan: CompactionPlan
    stamp: Stamp
    number: int
    edits_seen: int
    cuts: tuple[ShortenEdit, ...] = ()
    private: tuple[str, ...] = ()
    brought_back: tuple[BroughtBack, ...] = ()
    note: str = ""


class Previewed(Struct, frozen=True, kw_only=True):
    """A preview that waits to be committed: a planned compaction and its summary."""

    planned: Planned
    summary: Summary
