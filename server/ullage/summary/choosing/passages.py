"""Passages of code and output that a summary quotes, each with its file or command.

A passage is a run of neighbouring lines, long enough to be understood by itself. Of each text the runs with the
heaviest names are chosen, so that few lines come with a name that nothing needs.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ullage.agents.tools import OLD_TEXT_KEYS, text_of
from ullage.model.artifacts import FileAction
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.digest import Digest, Seen
from ullage.summary.reading.listings import FEWEST_LINES, Listing
from ullage.summary.tuning import TUNING, Tuning

# A text with at most this many lines is quoted as a whole, because its rest would be a fragment.
_WHOLE = 10
# Of a text that is mostly a list or a log, only what went wrong is worth quoting.
_MOSTLY = 0.5
_WENT_WRONG = re.compile(r"error|fail|panic|assert|exception|traceback|warning|expected|denied|conflict|<<<<<<<", re.I)
# Characters. Shorter lines, such as a closing bracket, occur everywhere in a file.
_TELLING = 12


def passages_of(
    digest: Digest, weights: Mapping[str, float], check: Check = go_on, tuning: Tuning = TUNING
) -> Iterator[Item]:
    """Yields, as items, the passages that the agent wrote into files and commands and those that tools returned, newest
    first; of equal passages only the newest. A passage with a line that a later edit removed from the file is left
    out."""
    removed = _removed_lines(digest)
    known: set[str] = set()
    # By file and by lines, which are the same object for equal texts. What is gone from newer lines is from older ones.
    read: set[tuple[str, int]] = set()
    for seen in checked(reversed(digest.seen), check, MANY):
        if (seen.group, id(seen.lines)) in read:
            continue
        read.add((seen.group, id(seen.lines)))
        gone = _gone_after(removed.get(seen.group, ()), seen.index)
        if gone is None:
            continue
        for start, stop in _passages(seen, weights):
            item = _item(seen, start, stop, tuning)
            if item.text not in known and (not gone or gone.isdisjoint(map(str.strip, item.text.splitlines()))):
                known.add(item.text)
                yield item


class Neighbours:
    """The lines next to passages of a digest, with which a page continues a passage that it has."""

    def __init__(self, digest: Digest, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self._removed = _removed_lines(digest)
        self._seen: dict[tuple[str, int], list[Seen]] = {}
        for seen in digest.seen:
            self._seen.setdefault((seen.group, seen.index), []).append(seen)

    def __call__(self, item: Item) -> Iterator[Item]:
        """Yields, as items, the piece before and the piece after a passage, each with the blank lines between. Yields
        none for other items, and no lines that a later edit removed."""
        if item.section is not Section.DETAILS:
            return
        gone = _gone_after(self._removed.get(item.group, ()), item.index)
        if gone is None:
            return
        for seen in self._seen.get((item.group, item.index), ()):
            start = item.order - seen.order
            if not 0 <= start < len(seen.lines.listing.lines):
                continue
            for first, last in _beside(seen.lines.listing, start, start + item.text.count("\n") + 1):
                if not seen.lines.rows.places.isdisjoint(range(first, last)):
                    continue
                more = _item(seen, first, last, self._tuning)
                if not gone or gone.isdisjoint(map(str.strip, more.text.splitlines())):
                    yield more


def _beside(listing: Listing, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yields the first line of the piece before these lines and of the one after them, each with the line after its
    last one."""
    spans = listing.spans
    before, after = bisect_left(spans, (start, 0)) - 1, bisect_left(spans, (stop, 0))
    if before >= 0 and listing.is_unbroken(spans[before][0], stop):
        yield spans[before][0], start
    if after < len(spans) and listing.is_unbroken(start, spans[after][1]):
        yield stop, spans[after][1]


# The lines that an edit removed from a file, None if it may have removed any, and the index of its message.
_Removal = tuple[int, frozenset[str] | None]


def _removed_lines(digest: Digest) -> dict[str, list[_Removal]]:
    """Returns, for each file, what edits removed from it."""
    removed: dict[str, list[_Removal]] = {}
    for call, touches in zip(digest.calls, digest.touches, strict=True):
        for path, action in touches:
            if action is not FileAction.READ:
                old = text_of(call.input, OLD_TEXT_KEYS)
                lines = frozenset(line.strip() for line in old.splitlines() if len(line) >= _TELLING)
                removed.setdefault(path, []).append((call.index, lines if old else None))
    return removed


def _gone_after(removals: Sequence[_Removal], index: int) -> frozenset[str] | None:
    """Returns the lines that edits after the message at `index` removed, None if any line may be gone."""
    later = [lines for place, lines in removals if place > index]
    return None if None in later else frozenset(line for lines in later if lines for line in lines)


def _passages(seen: Seen, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    """Returns the first line of each passage and the line after its last one: those with the most weight per character
    that do not overlap, heaviest first."""
    listing, rows = seen.lines.listing, seen.lines.rows.places
    if not seen.lines.counts.names:
        return []
    worth = [
        sum([weights.get(name, 0.0) for name in piece.anchors]) if piece.anchors else 0.0 for piece in seen.lines.pieces
    ]
    if len(listing.lines) <= _WHOLE and not rows and listing.is_unbroken(0, len(listing.lines)):
        told = sum(stop - start for start, stop in listing.spans)
        return [(0, len(listing.lines))] if told >= FEWEST_LINES and any(worth) else []
    taken = bytearray(len(listing.lines))
    for place in rows:
        taken[place] = 1
    found: list[tuple[int, int]] = []
    is_log = len(rows) >= _MOSTLY * len(listing.lines)
    candidates = [
        (total / window.size, window.start, window.stop)
        for window in listing.windows
        if (total := sum(worth[window.first : window.last]))
    ]
    for _, start, stop in sorted(candidates, reverse=True):
        if not any(taken[start:stop]) and not (is_log and not any(map(_WENT_WRONG.search, listing.lines[start:stop]))):
            taken[start:stop] = b"\1" * (stop - start)
            found.append((start, stop))
    return found


def _item(seen: Seen, start: int, stop: int, tuning: Tuning) -> Item:
    spans = seen.lines.listing.spans
    pieces = seen.lines.pieces[bisect_left(spans, (start, 0)) : bisect_left(spans, (stop, 0))]
    return Item(
        section=Section.DETAILS,
        text="\n".join(seen.lines.listing.lines[start:stop]).replace("```", "'''"),
        index=seen.index,
        order=seen.order + start,
        anchors=tuple(dict.fromkeys(chain.from_iterable([piece.anchors for piece in pieces]))),
        group=seen.group,
        value=tuning.shown_value,
        first_line=seen.lines.listing.numbers[start],
    )
