"""Listings: the lines of code or output, the pieces that they consist of, and the shortest passages to quote."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from ullage.summary.reading.excerpts import head_and_tail, numbered_lines, single_spaced

# Characters. Neighbouring lines are joined to pieces of about this length, so that a name keeps its surroundings.
_WIDTH = 60
_WORD = re.compile(r"[A-Za-z]{2}")
# Fewer lines are fragments that a reader can't place.
FEWEST_LINES = 5


class Windows(Struct, frozen=True, gc=False):
    """The shortest passages that begin with a piece: the places of each as its first line, the line after its last one,
    its first piece and the piece after its last one; the slice of its pieces; and its characters. In columns, because a
    summary judges all passages of a conversation."""

    places: tuple[tuple[int, int, int, int], ...] = ()
    pieces: tuple[slice, ...] = ()
    sizes: tuple[int, ...] = ()


_NONE = Windows()


class Listing(Struct, frozen=True, kw_only=True, gc=False):
    """The lines of a text with their indentation. `numbers` are the numbers that the tool wrote before them, 0 for
    none. `spans` are the first line of each piece and the line after its last one, as indices of `lines`; lines without
    a word are in no piece. `windows` are the passages of at least `FEWEST_LINES` lines with words, without a gap in the
    numbers."""

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    windows: Windows

    def text_of(self, span: tuple[int, int]) -> str:
        """Returns the text of a piece without indentation."""
        start, stop = span
        if stop - start == 1:
            return single_spaced(self.lines[start].strip())
        return "\n".join([single_spaced(line.strip()) for line in self.lines[start:stop]])

    def is_unbroken(self, start: int, stop: int) -> bool:
        """Returns whether these lines have consecutive numbers, or none."""
        return not self.numbers[start] or self.numbers[stop - 1] - self.numbers[start] == stop - 1 - start


def read_listing(text: str, limit: int) -> Listing:
    """Returns the lines of a text with the spans of its pieces. Of a text of more than `limit` characters only the
    beginning and the end are read."""
    numbered = list(numbered_lines(head_and_tail(text, limit)))
    lines = tuple([line for _, line in numbered])
    numbers = tuple([number for number, _ in numbered])
    bare = Listing(lines=lines, numbers=numbers, spans=tuple(_spans(lines)), windows=_NONE)
    found = list(_windows(bare))
    windows = Windows(
        places=tuple([places for places, _ in found]),
        pieces=tuple([slice(first, last) for (_, _, first, last), _ in found]),
        sizes=tuple([size for _, size in found]),
    )
    return replace(bare, windows=windows) if found else bare


def _spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    size = _WIDTH
    for place, line in enumerate(lines):
        if _WORD.search(line) is None:
            size = _WIDTH
        elif size + len(line) < _WIDTH:
            spans[-1] = (spans[-1][0], place + 1)
            size += len(line)
        else:
            spans.append((place, place + 1))
            size = len(line)
    return spans


def _windows(listing: Listing) -> Iterator[tuple[tuple[int, int, int, int], int]]:
    spans = listing.spans
    # The characters before each line, so that those of a passage are one subtraction.
    before = list(accumulate(map(len, listing.lines), initial=0))
    last = told = 0
    for first, (start, after) in enumerate(spans):
        while told < FEWEST_LINES and last < len(spans):
            told += spans[last][1] - spans[last][0]
            last += 1
        if told < FEWEST_LINES:
            return
        stop = spans[last - 1][1]
        told -= after - start
        if listing.is_unbroken(start, stop):
            yield (start, stop, first, last), before[stop] - before[start] or 1
