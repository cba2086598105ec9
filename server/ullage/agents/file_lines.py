"""Lines of a file as tools show them: with or without a number in front."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# `cat -n` and the tools that copy it set the number right in six columns, before a tab or an arrow; others write five
# digits and a bar. Anything less particular (`12:`) may be part of the text and stays in it.
_NUMBERED = re.compile(r"(?=[ \d]{6})( *\d+)[\t→](.*)|( *\d+)→(.*)|(\d{5,})\| ?(.*)", re.DOTALL)


class Line(NamedTuple):
    """A line's number in its file (None if nothing tells it) and its text without the number."""

    number: int | None
    text: str


def file_lines(text: str, first: int | None = None) -> list[Line]:
    """The lines of a text. `first` is the number of its first line, for text that bears no numbers itself."""
    return list(_lines(text, first))


def _lines(text: str, first: int | None) -> Iterator[Line]:
    for i, line in enumerate(text.split("\n")):
        match = _NUMBERED.fullmatch(line)
        if match:
            digits, words = (group for group in match.groups() if group is not None)
            yield Line(int(digits), words)
        else:
            yield Line(None if first is None else first + i, line)
