"""Passages of code and output that a summary quotes, each with its file or command.

A passage is a run of neighbouring lines, long enough to be understood by itself. Of each text the runs with the
heaviest names are chosen, so that few lines come with a name that nothing needs.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from ullage.agents.outcomes import was_refused
from ullage.agents.tools import NEW_TEXT_KEYS, OLD_TEXT_KEYS, text_of
from ullage.model.artifacts import FileAction
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.contents import Seen, Source
from ullage.summary.reading.digest import Digest, once
from ullage.summary.reading.excerpts import LINE_LIMIT, clip
from ullage.summary.reading.listings import FEWEST_LINES, Listing
from ullage.summary.reading.text_reader import Lines
from ullage.summary.tuning import TUNING, Tuning

# A text with at most this many lines is quoted as a whole, because its rest would be a fragment.
_WHOLE = 10
# Of a text that is mostly a list or a log, only what went wrong is worth quoting.
_MOSTLY = 0.5
_WENT_WRONG = re.compile(r"error|fail|panic|assert|exception|traceback|warning|expected|denied|conflict|<<<<<<<", re.I)
# Characters. Shorter lines, such as a closing bracket, occur everywhere in a file.
_TELLING = 12
# Passages that come in place of others. A small page asks for fewer, and on a large one more of them bring nothing.
_MOST_OFFERED = 100
# A member of an enumeration is looked up more slowly.
_DETAILS = Section.DETAILS
# Weight per character that is no more than what rounding leaves of a difference of sums.
_ROUNDED = 1e-12


def passages_of(
    digest: Digest, weights: Mapping[str, float], check: Check = go_on, tuning: Tuning = TUNING
) -> Iterator[Item]:
    """Yields, as items, the passages that the agent wrote into files and commands and those that tools returned, newest
    first; of equal passages only the newest. A passage with a line that a later edit removed from the file is left
    out, and so is the text of a change that failed."""
    failed = _failed_changes(digest)
    known: set[str] = set()
    # By file and by lines, which are the same object for equal texts. What is gone from newer lines is from older ones.
    read: set[tuple[str, int]] = set()
    for seen in checked(reversed(digest.seen), check, MANY):
        if (seen.group, id(seen.lines)) in read:
            continue
        read.add((seen.group, id(seen.lines)))
        if seen.source is Source.CALL and (seen.index, seen.group) in failed:
            continue
        gone = gone_from(digest, seen.group, seen.index)
        if gone is None:
            continue
        for passage in _passages(seen.lines, weights):
            item = _item(seen, passage, tuning)
            if item.text not in known and not gone.is_in(item.text):
                known.add(item.text)
                yield item


# The first line of some pieces and the line after their last one, and the number of the first piece and that of the
# piece after the last one.
_Span = tuple[int, int, int, int]


class Neighbours:
    """What is around passages of a digest: the lines next to one, with which a page continues a passage that it has,
    and the passages that share lines with one."""

    def __init__(self, digest: Digest, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self._digest = digest
        self._seen: dict[tuple[str, int], list[Seen]] = {}
        for seen in digest.seen:
            self._seen.setdefault((seen.group, seen.index), []).append(seen)
        self._offered: set[tuple[str, int, int]] = set()

    def __call__(self, item: Item) -> Iterator[Item]:
        """Yields, as items, the piece before and the piece after a passage, each with the blank lines between. Yields
        none for other items, and no lines that a later edit removed."""
        gone = gone_from(self._digest, item.group, item.index) if item.section is _DETAILS else None
        if gone is None:
            return
        for seen in self._seen.get((item.group, item.index), ()):
            start = item.order - seen.order
            if not 0 <= start < len(seen.lines.listing.lines):
                continue
            for beside in _beside(seen.lines.listing, start, start + item.text.count("\n") + 1):
                if not seen.lines.rows.places.isdisjoint(range(beside[0], beside[1])):
                    continue
                more = _item(seen, beside, self._tuning)
                if not gone.is_in(more.text):
                    yield more

    def instead(self, item: Item, worth: Mapping[str, float]) -> Item | None:
        """Returns, as an item, the passage with the most worth per character of those that share lines with a passage.
        None if that is the passage itself or was returned before, for lines next to a passage and other items, and
        for texts that are quoted as a whole or are mostly a list or a log."""
        length = item.text.count("\n") + 1
        if len(self._offered) >= _MOST_OFFERED or item.section is not _DETAILS or length < FEWEST_LINES:
            return None
        for seen in self._seen.get((item.group, item.index), ()):
            lines, rows, start = seen.lines.listing.lines, seen.lines.rows.places, item.order - seen.order
            if 0 <= start < len(lines):
                if len(lines) <= _WHOLE or len(rows) >= _MOSTLY * len(lines):
                    return None
                best = _best_over(seen.lines, start, start + length, worth)
                return self._shifted(seen, best) if best and best[0] != start else None
        return None

    def _shifted(self, seen: Seen, span: _Span) -> Item | None:
        """Returns a passage as an item, None if it was returned before, has rows, or lines that were removed."""
        key = (seen.group, seen.index, seen.order + span[0])
        if key in self._offered or not seen.lines.rows.places.isdisjoint(range(span[0], span[1])):
            return None
        self._offered.add(key)
        item = _item(seen, span, self._tuning)
        gone = gone_from(self._digest, seen.group, seen.index)
        return None if gone is None or gone.is_in(item.text) else item


def _best_over(read: Lines, start: int, stop: int, worth: Mapping[str, float]) -> _Span | None:
    """Returns the passage of these lines' text that has most worth per character and shares lines with them. None if
    none has any."""
    places, sizes = read.listing.windows.places, read.listing.windows.sizes
    end = first = bisect_left(places, (stop,))
    while first and places[first - 1][1] > start:
        first -= 1
    if first == end:
        return None
    near, begin = places[first:end], places[first][2]
    before = _sums(read.names[begin : near[-1][3]], worth)
    weighed = [
        ((before[place[3] - begin] - before[place[2] - begin]) / size, place)
        for size, place in zip(sizes[first:end], near, strict=True)
    ]
    most, best = max(weighed)
    return best if most > _ROUNDED else None


def _beside(listing: Listing, start: int, stop: int) -> Iterator[_Span]:
    """Yields the piece before these lines, up to them, and the piece after them, from them on."""
    spans = listing.spans
    before, after = bisect_left(spans, (start, 0)) - 1, bisect_left(spans, (stop, 0))
    if before >= 0 and listing.is_unbroken(spans[before][0], stop):
        yield spans[before][0], start, before, before + 1
    if after < len(spans) and listing.is_unbroken(start, spans[after][1]):
        yield stop, spans[after][1], after, after + 1


class Gone(Struct, frozen=True, kw_only=True):
    """What edits removed from a file: lines, and parts of a line each."""

    lines: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Returns whether a text has one of the lines or parts."""
        if not self.lines:
            return False
        return not self.lines.isdisjoint(map(str.strip, text.splitlines())) or any(part in text for part in self.parts)


_NOTHING_GONE = Gone()
# The index of an edit's message, and what the edit removed from a file, None if it may have removed any line.
_Removal = tuple[int, Gone | None]


@once
def _removed_lines(digest: Digest) -> dict[str, list[_Removal]]:
    """Returns, for each file, what edits removed from it."""
    removed: dict[str, list[_Removal]] = {}
    for call, touches in zip(digest.calls, digest.touches, strict=True):
        for path, action in touches:
            if action is not FileAction.READ:
                old = text_of(call.input, OLD_TEXT_KEYS)
                removed.setdefault(path, []).append(
                    (call.index, _gone_by(old, text_of(call.input, NEW_TEXT_KEYS)) if old else None)
                )
    return removed


def _gone_by(old: str, new: str) -> Gone:
    # As long lines are shown.
    clipped = (clip(line.rstrip(), LINE_LIMIT).strip() for line in old.splitlines())
    lines = frozenset(line for line in clipped if len(line) >= _TELLING)
    # The old text of an edit occurs once, so that one within a line says which line it was. What is only added to it
    # leaves the line as it was.
    part = old.strip()
    return Gone(lines=lines, parts=(part,) if lines and "\n" not in part and part not in new else ())


def gone_from(digest: Digest, path: str, index: int) -> Gone | None:
    """Returns what edits after the message at `index` removed from a file, None if any line may be gone."""
    removals = _removed_lines(digest).get(path, ())
    if not removals:
        return _NOTHING_GONE
    later = [gone for place, gone in removals if place > index]
    if None in later:
        return None
    known = [gone for gone in later if gone]
    return Gone(
        lines=frozenset(line for gone in known for line in gone.lines),
        parts=tuple([part for gone in known for part in gone.parts]),
    )


@once
def _failed_changes(digest: Digest) -> frozenset[tuple[int, str]]:
    """Returns the messages and files of changes that failed or were refused, except where another change of that file
    in the same message worked."""
    failed, worked = set[tuple[int, str]](), set[tuple[int, str]]()
    for call in digest.calls:
        if call.path and not call.command:
            (failed if call.failed or was_refused(call.result) else worked).add((call.index, call.path))
    return frozenset(failed - worked)


def _passages(read: Lines, weights: Mapping[str, float]) -> list[_Span]:
    """Returns the passages with the most weight per character that do not overlap, heaviest first."""
    listing, rows, lines = read.listing, read.rows.places, read.listing.lines
    windows = listing.windows
    if not listing.spans:
        return []
    if len(lines) <= _WHOLE and not rows and listing.is_unbroken(0, len(lines)):
        told = sum([stop - start for start, stop in listing.spans])
        is_worth = told >= FEWEST_LINES and not weights.keys().isdisjoint(chain.from_iterable(read.names))
        return [(0, len(lines), 0, len(listing.spans))] if is_worth else []
    before = _sums(read.names, weights)
    sizes = zip(windows.places, windows.sizes, strict=True)
    weighed = [(before[last] - before[first]) / size for (_, _, first, last), size in sizes]
    taken = bytearray(len(lines))
    for place in rows:
        taken[place] = 1
    found: list[_Span] = []
    is_log = len(rows) >= _MOSTLY * len(lines)
    # Of equal ones the later first.
    for number in sorted(range(len(weighed) - 1, -1, -1), key=weighed.__getitem__, reverse=True):
        if weighed[number] <= _ROUNDED:
            break
        start, stop, _, _ = place = windows.places[number]
        # None is within another, so that one which overlaps another has its first or its last line in it.
        if taken[start] or taken[stop - 1] or (rows and taken.find(1, start, stop) >= 0):
            continue
        if not is_log or any(map(_WENT_WRONG.search, lines[start:stop])):
            taken[start:stop] = b"\1" * (stop - start)
            found.append(place)
    return found


def _sums(names: Sequence[Sequence[str]], weights: Mapping[str, float]) -> list[float]:
    """Returns what the names before each piece weigh, and at last those of all pieces, so that the weight of
    neighbouring pieces is one subtraction. `names` are those of each piece."""
    total, sums, weight_of = 0.0, [0.0], weights.get
    for each in names:
        for name in each:
            total += weight_of(name, 0.0)
        sums.append(total)
    return sums


def _item(seen: Seen, span: _Span, tuning: Tuning) -> Item:
    start, stop, first, last = span
    names = chain.from_iterable(seen.lines.names[first:last])
    return quote(seen, start, stop, tuple(dict.fromkeys(names)), tuning.shown_value)


def quote(seen: Seen, start: int, stop: int, anchors: tuple[str, ...], value: float) -> Item:
    """Returns the item that quotes these lines of a text, which have these anchors."""
    listing = seen.lines.listing
    return Item(
        section=_DETAILS,
        text="\n".join(listing.lines[start:stop]).replace("```", "'''"),
        index=seen.index,
        order=seen.order + start,
        anchors=anchors,
        group=seen.group,
        value=value,
        first_line=listing.numbers[start],
    )
