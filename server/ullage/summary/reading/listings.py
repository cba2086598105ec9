"""Listings: the lines of code or output, and the pieces that they consist of."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ullage.summary.reading.excerpts import head_and_tail, numbered_lines, single_spaced

# Characters. Neighbouring lines are joined to pieces of about this length, so that a name keeps its surroundings.
_WIDTH = 60
_WORD = re.compile(r"[A-Za-z]{2}")


class Listing(Struct, frozen=True, kw_only=True, gc=False):
    """The lines of a text with their indentation. `numbers` are the numbers that the tool wrote before them, 0 for
    none. `spans` are the first line of each piece and the line after its last one, as indices of `lines`; lines without
    a word are in no piece."""

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    def text_of(self, span: tuple[int, int]) -> str:
        """Returns the text of a piece without indentation."""
        return "\n".join(single_spaced(self.lines[place].strip()) for place in range(*span))


def read_listing(text: str, limit: int) -> Listing:
    """Returns the lines of a text with the spans of its pieces. Of a text of more than `limit` characters only the
    beginning and the end are read."""
    numbered = list(numbered_lines(head_and_tail(text, limit)))
    lines = tuple(line for _, line in numbered)
    return Listing(lines=lines, numbers=tuple(number for number, _ in numbered), spans=tuple(_spans(lines)))


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
