"""Listings: the lines of code or output, the pieces that they consist of, and the shortest passages to quote."""

import re
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from ullage.summary.reading.excerpts import head_and_tail, numbered_lines, single_spaced

# Characters. Neighbouring lines are joined to pieces of about this length, so that a name keeps its surroundings.
_WIDTH = 60
_WORD = re.compile(r"[A-Za-z]{2}")
# Fewer lines are fragments that a reader can't place.
FEWEST_LINES = 5


class Windows(Struct, frozen=True, gc=False):
    """The shortest passages that begin with a piece: the places of each as its first line, the line after its last one,
    its first piece and the piece after its last one; and its characters. In columns, because a summary judges all
    passages of a conversation."""

    places: tuple[tuple[int, int, int, int], ...]
    sizes: tuple[int, ...]


class Listing(Struct, frozen=True, kw_only=True, gc=False):
    """The lines of a text with their indentation. `numbers` are the numbers that the tool wrote before them, 0 for
    none. `spans` are the first line of each piece and the line after its last one, as indices of `lines`; lines without
    a word are in no piece. `texts` are those of the pieces, without indentation. `windows` are the passages of at least
    `FEWEST_LINES` lines with words, without a gap in the numbers."""

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    windows: Windows

    def is_unbroken(self, start: int, stop: int) -> bool:
        """Returns whether these lines have consecutive numbers, or none."""
        return _is_unbroken(self.numbers, start, stop)


def read_listing(text: str, limit: int) -> Listing:
    """Returns the lines of a text with the spans of its pieces. Of a text of more than `limit` characters only the
    beginning and the end are read."""
    lines, numbers = numbered_lines(head_and_tail(text, limit))
    spans, texts = _pieces(lines)
    return Listing(
        lines=tuple(lines),
        numbers=tuple(numbers),
        spans=tuple(spans),
        texts=tuple(texts),
        windows=_windows(lines, numbers, spans),
    )


def _pieces(lines: Sequence[str]) -> tuple[list[tuple[int, int]], list[str]]:
    """Returns the spans of the pieces and their texts."""
    starts, stops = list[int](), list[int]()
    size = _WIDTH
    has_word = _WORD.search
    for place, line in enumerate(lines):
        if has_word(line) is None:
            size = _WIDTH
        elif size + len(line) < _WIDTH:
            stops[-1] = place + 1
            size += len(line)
        else:
            starts.append(place)
            stops.append(place + 1)
            size = len(line)
    spans = list(zip(starts, stops, strict=True))
    bare = list(map(str.strip, lines))
    return spans, [single_spaced("\n".join(bare[start:stop])) for start, stop in spans]


def _windows(lines: Sequence[str], numbers: Sequence[int], spans: Sequence[tuple[int, int]]) -> Windows:
    # The characters before each line, so that those of a passage are one subtraction.
    before = list(accumulate(map(len, lines), initial=0))
    places, sizes = list[tuple[int, int, int, int]](), list[int]()
    last = told = 0
    for first, (start, after) in enumerate(spans):
        while told < FEWEST_LINES and last < len(spans):
            told += spans[last][1] - spans[last][0]
            last += 1
        if told < FEWEST_LINES:
            break
        stop = spans[last - 1][1]
        told -= after - start
        if not numbers[start] or _is_unbroken(numbers, start, stop):
            places.append((start, stop, first, last))
            sizes.append(before[stop] - before[start] or 1)
    return Windows(places=tuple(places), sizes=tuple(sizes))


def _is_unbroken(numbers: Sequence[int], start: int, stop: int) -> bool:
    return not numbers[start] or numbers[stop - 1] - numbers[start] == stop - 1 - start
