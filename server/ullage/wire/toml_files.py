"""Adds Ullage's MCP server to settings in TOML, as a table at their end, and takes it out again.

The text is read with the places of its tables, so that everything else stays as it is.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_list, as_object
from ullage.wire.json_files import is_blank
from ullage.wire.plan import Added, McpServer

_SERVERS = "mcp_servers"
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


def add(text: str, added: Added) -> str:
    """Returns the settings with the server. A server of its name that is there already stays as it is. Raises
    `InvalidRequest` if the server can't be added to the text."""
    before = parse(text)
    if added.mcp is None or added.mcp.name in as_object(before.get(_SERVERS)):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if is_blank(text) else newline if text.endswith("\n") else 2 * newline
    after = f"{text}{gap}{newline.join(_server_lines(added.mcp))}{newline}"
    expected = deepcopy(before)
    try:
        expected.setdefault(_SERVERS, {})[added.mcp.name] = _server_value(added.mcp)
        if parse(after) == expected:
            return after
    except (InvalidRequest, TypeError):
        pass
    raise InvalidRequest(f'"{_SERVERS}" is no table to which one can be added; write it as one, or give --no-mcp')


def take_out(text: str, added: Added, before: str) -> str:
    """Returns the settings without the server that was added to `before`, unless it has become another one since.
    Raises `InvalidRequest` if the text is not TOML, or the server has no table of its own any more."""
    now = parse(text)
    server = added.mcp
    if server is None or server.name in as_object(parse(before).get(_SERVERS)):
        return text
    found = as_object(as_object(now.get(_SERVERS)).get(server.name))
    if found.get("command") != server.command or found.get("args", []) != [*server.arguments]:
        return text
    own = [table for table in tables(text) if table.keys[:2] == (_SERVERS, server.name)]
    after = text
    for table in reversed(own):
        after = _without_table(after, table)
    expected = deepcopy(now)
    del expected[_SERVERS][server.name]
    try:
        left = parse(after)
    except InvalidRequest:
        left = {}
    if own and _without_empty(left) == _without_empty(expected):
        return after
    raise InvalidRequest(f'"{_SERVERS}.{server.name}" is no table of its own; take it out by hand')


def _without_table(text: str, table: Table) -> str:
    """Returns the text without a table, and without a blank line before it that separates nothing any more."""
    head, tail = text[: table.start], text[table.end :]
    shorter = head.removesuffix("\n").removesuffix("\r")
    if shorter.endswith("\n") and (not tail or tail.lstrip("\r").startswith("\n")):
        head = shorter
    return head + tail


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != _SERVERS or each}


def _server_value(server: McpServer) -> dict[str, Any]:
    value: dict[str, Any] = {"command": server.command, "args": [*server.arguments]}
    return {**value, "env_vars": [*server.variables]} if server.variables else value


def _server_lines(server: McpServer) -> Iterator[str]:
    yield f"[{_SERVERS}.{server.name}]"
    for key, value in _server_value(server).items():
        yield f"{key} = {_toml_text(value)}"


def _toml_text(value: str | list[str]) -> str:
    """Returns a text or texts in TOML, which is JSON's but for one more character that needs an escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse(text: str) -> dict[str, Any]:
    """Returns a TOML text's value, with fractions as written. Raises `InvalidRequest` if it is not TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidRequest(f"not TOML: {error}") from None


def tables(text: str) -> list[Table]:
    """Returns the tables of a valid TOML text that have headers, in their order."""
    found = list[Table]()
    for start, end in _statements(text):
        if text[start:end].lstrip(" \t").startswith("["):
            keys = list[str]()
            value = parse(text[start:end])
            while value:
                ((key, inner),) = value.items()
                keys.append(key)
                value = as_object(as_list(inner)[0] if isinstance(inner, list) else inner)
            found.append(Table(keys=tuple(keys), start=start, end=end))
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
