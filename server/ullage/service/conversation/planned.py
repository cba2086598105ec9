"""Compactions that are planned and not yet applied."""

from msgspec import Struct

from ullage.edits.compaction import CompactionPlan, Summary
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import BroughtBack
from ullage.model.edits import ShortenEdit


class Planned(Struct, frozen=True, kw_only=True):
    """A compaction that lacks only its summary. `number` counts the session's compactions from 1; `edits_seen` is the
    conversation's when this was planned. `cuts` are cuts of huge blocks that are applied with it, `private` the
    patterns that no summary may contain, `brought_back` the files that come with the summary. `note` says what differs
    from what the user asked for."""

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
    """A compaction with its summary, waiting to be committed."""

    planned: Planned
    summary: Summary
