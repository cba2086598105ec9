"""Splits a file's text, as a tool result shows it, into lines. A tool may print a line number before each line."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# `cat -n` and the tools that copy it right-align the number in six columns, before a tab or an arrow. Others write at
# least five digits and a bar. Shorter forms (`12:`) may be part of the file's text, so they are left in the text.
_NUMBERED = re.compile(r"(?=[ \d]{6})( *\d+)[\t→](.*)|( *\d+)→(.*)|(\d{5,})\| ?(.*)", re.DOTALL)


class Line(NamedTuple):
    """A line's number in its file (None if it is unknown) and its text without the number."""

    number: int | None
    text: str


def file_lines(text: str, first: int | None = None) -> list[Line]:
    """Returns the lines of a text with their numbers. A line number that the tool printed before a line is read and
    removed.

    `first` is the number of the first line, for texts without printed numbers; None if it is unknown.
    """
    return list(_lines(text, first))


def _lines(text: str, first: int | None) -> Iterator[Line]:
    for i, line in enumerate(text.split("\n")):
        match = _NUMBERED.fullmatch(line)
        if match:
            digits, words = (group for group in match.groups() if group is not None)
            yield Line(int(digits), words)
        else:
            yield Line(None if first is None else first + i, line)
