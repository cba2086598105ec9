"""A TOML text with the places of its tables, so that it can be changed without being written again."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_list, as_object

# What a line break or a bracket can be in without meaning one: a comment, or a string in one of four ways.
_TOKEN = re.compile(
    r'''#[^\n]*|"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[\[\]{}]|\n|[^#"'\[\]{}\n]+''',
    re.DOTALL,
)


class Table(Struct, frozen=True, kw_only=True):
    """A table with a header of its own: its keys from the root, and the text from the header's line up to the end of
    its last value, with the line break."""

    keys: tuple[str, ...]
    start: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """Returns the value of a TOML text, with fractions as they are written. Raises `InvalidRequest` if the text is not
    TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidRequest(f"not TOML: {error}") from None


def tables(text: str) -> list[Table]:
    """Returns the tables of a valid TOML text that have headers, in their order."""
    found = list[Table]()
    for start, end in _statements(text):
        if text[start:end].lstrip(" \t").startswith("["):
            found.append(Table(keys=_keys(text[start:end]), start=start, end=end))
        elif found:
            last = found[-1]
            found[-1] = Table(keys=last.keys, start=last.start, end=end)
    return found


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yields the lines of each header and each value. Blank lines and those with a comment alone belong to none."""
    start, depth, blank = len(text) - len(text.removeprefix("\ufeff")), 0, True
    for token in _TOKEN.finditer(text, start):
        first = token[0][0]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        if first == "\n" and depth == 0:
            if not blank:
                yield start, token.end()
            start, blank = token.end(), True
        elif first != "#" and token[0].strip(" \t\r\n"):
            blank = False
    if not blank:
        yield start, len(text)


def _keys(header: str) -> tuple[str, ...]:
    """Returns the keys of a header such as `[a."b c"]` or `[[a]]`."""
    keys = list[str]()
    value = parse(header)
    while value:
        ((key, inner),) = value.items()
        keys.append(key)
        value = as_object(as_list(inner)[0] if isinstance(inner, list) else inner)
    return tuple(keys)
