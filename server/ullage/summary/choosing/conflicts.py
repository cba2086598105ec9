"""Conflicts that a merge left in files, which must be resolved before the work can continue."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ullage.model.artifacts import FileAction, Outcome
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item
from ullage.summary.choosing.passages import gone_from, quote
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Seen, Source
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.listings import Listing
from ullage.summary.reading.text_reader import CONFLICT
from ullage.summary.tuning import TUNING, Tuning

_BEGIN, _END = CONFLICT, ">>>>>>> "
_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
# Lines. A longer region would take the room of all others.
_LONGEST = 120
# Lines before and after a region that show where it is.
_AROUND = 3
_WORD = re.compile(r"[^\W\d_]{2}")
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
    # What newer texts of a file show. Where they show no conflict, a command resolved it.
    again: defaultdict[str, list[Listing]] = defaultdict(list)
    files = _Files(digest)
    for seen in checked(reversed(digest.seen), check, MANY):
        if seen.source is not Source.RESULT or seen.index <= ended:
            continue
        regions, listing, file = _regions(seen), seen.lines.listing, files.name(seen)
        for region, span in zip(regions, _spans(regions, len(listing.numbers)), strict=True):
            lines = _of(seen, region)
            if newest.setdefault(file, seen.index) != seen.index or (seen.group, lines) in shown:
                continue
            if any(_is_resolved(listing, region, later) for later in again[file]):
                continue
            gone = gone_from(digest, file, seen.index)
            if gone is not None and not gone.is_in(_said(lines)):
                yield _item(seen, region if gone.is_in(_said(_of(seen, span))) else span, tuning)
        again[file].append(listing)


class _Files:
    """The files whose text commands printed, so that `cat a.py` shows the same as a tool that reads `a.py`."""

    def __init__(self, digest: Digest) -> None:
        self._read: defaultdict[int, list[str]] = defaultdict(list)
        for call, touches in zip(digest.calls, digest.touches, strict=True):
            if call.command and len(touches) == 1 and touches[0][1] is FileAction.READ:
                self._read[call.result_index].append(touches[0][0])

    def name(self, seen: Seen) -> str:
        """Returns the file that a text is of, or the whole command if it does not print one file."""
        if not seen.group.startswith("$ "):
            return seen.group
        printed = [path for path in self._read.get(seen.index, ()) if path.rsplit("/", 1)[-1] in seen.group]
        return printed[0] if len(printed) == 1 else seen.group


def _is_resolved(listing: Listing, region: range, later: Listing) -> bool:
    """Returns whether a newer text of the file shows the place of a region: its numbers, or, where it has none, the
    lines with words before and after the region, and between them no mark of a conflict."""
    numbers = later.numbers
    if numbers and numbers[0] and listing.numbers[region.start]:
        return numbers[0] <= listing.numbers[region.start] <= numbers[-1]
    before = next((line for line in reversed(listing.lines[: region.start]) if _WORD.search(line)), None)
    after = next((line for line in listing.lines[region.stop :] if _WORD.search(line)), None)
    if before is None or after is None or before not in later.lines:
        return False
    between = later.lines[later.lines.index(before) :]
    if after not in between[1:]:
        return False
    return not any(line.startswith(_MARKS) for line in between[: between.index(after, 1)])


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
