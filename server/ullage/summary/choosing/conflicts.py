"""Conflicts that a merge left in files, which must be resolved before the work can continue."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ullage.model.artifacts import Outcome
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item
from ullage.summary.choosing.passages import gone_from, quote
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Seen, Source
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.text_reader import CONFLICT
from ullage.summary.tuning import TUNING, Tuning

_BEGIN, _END = CONFLICT, ">>>>>>> "
_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
# Lines. A longer region would take the room of all others.
_LONGEST = 120
# Lines before and after a region that show where it is.
_AROUND = 3
# What ends a merge, one way or the other.
_ENDS = re.compile(r"\bgit (?:-\S+ \S+ )?(?:commit|reset|(?:merge|rebase|cherry-pick|revert|am) --\w+)\b")


def conflicts_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields, as items, the lines in conflict that tools showed, newest first, of a file only those of the newest text
    that shows any. Left out are conflicts of which a later edit removed a line or whose lines a newer text shows
    without one, all before a later command that ends a merge, and those that messages show that stay in the context."""
    if not any(seen.lines.has_conflict for seen in digest.seen):
        return
    after = digest.after
    runs = (*digest.runs, *(after.runs if after else ()))
    ended = max(
        (run.index for run in runs if run.outcome is not Outcome.FAILED and _ENDS.search(run.command)), default=-1
    )
    shown = {(seen.group, _of(seen, region)) for seen in (after.seen if after else ()) for region in _regions(seen)}
    newest: dict[str, int] = {}
    # The numbers of the lines that newer texts of a file show. Where they show no conflict, a command resolved it.
    again: dict[str, list[range]] = {}
    for seen in checked(reversed(digest.seen), check, MANY):
        if seen.source is not Source.RESULT or seen.index <= ended:
            continue
        regions, numbers = _regions(seen), seen.lines.listing.numbers
        for region, span in zip(regions, _spans(regions, len(numbers)), strict=True):
            lines = _of(seen, region)
            if newest.setdefault(seen.group, seen.index) != seen.index or (seen.group, lines) in shown:
                continue
            if any(numbers[region.start] in later for later in again.get(seen.group, ())):
                continue
            gone = gone_from(digest, seen.group, seen.index)
            if gone is not None and not gone.is_in(_said(lines)):
                yield _item(seen, region if gone.is_in(_said(_of(seen, span))) else span, tuning)
        if numbers and numbers[0]:
            again.setdefault(seen.group, []).append(range(numbers[0], numbers[-1] + 1))


def _regions(seen: Seen) -> list[range]:
    """Returns the lines of each region in conflict of a text, as indices of its lines. Where a compiler draws a region,
    the numbers of the lines have gaps."""
    regions: list[range] = []
    if not seen.lines.has_conflict:
        return regions
    listing, begun = seen.lines.listing, -1
    for place, line in enumerate(listing.lines):
        if line.startswith(_BEGIN):
            begun = place
        elif line.startswith(_END) and begun >= 0:
            if place - begun < _LONGEST and listing.is_unbroken(begun, place + 1):
                regions.append(range(begun, place + 1))
            begun = -1
    return regions


def _spans(regions: Sequence[range], count: int) -> Iterator[range]:
    """Yields each region of a text of `count` lines with the lines around it that show where it is."""
    ends = [0, *(region.stop + _AROUND for region in regions)]
    starts = [*(region.start for region in regions[1:]), count]
    for region, end, start in zip(regions, ends, starts, strict=False):
        yield range(max(region.start - _AROUND, min(end, region.start)), min(region.stop + _AROUND, start))


def _said(lines: Iterable[str]) -> str:
    """Returns the lines without the marks of conflicts, which all regions of a file have alike."""
    return "\n".join(line for line in lines if not line.startswith(_MARKS))


def _of(seen: Seen, span: range) -> tuple[str, ...]:
    return seen.lines.listing.lines[span.start : span.stop]


def _item(seen: Seen, span: range, tuning: Tuning) -> Item:
    anchors = find_anchors("\n".join(_of(seen, span)))
    return quote(seen, span.start, span.stop, anchors, tuning.error_value)
