"""Adds Ullage's MCP server to settings in TOML, as a table at their end, and takes it out again."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_object
from ullage.wire.entries import Added, McpServer
from ullage.wire.json_text import is_blank
from ullage.wire.toml_text import Table, parse, tables

_SERVERS = "mcp_servers"


def add(text: str, added: Added) -> str:
    """Returns the settings with the server. A server of its name that is there already stays as it is. Raises
    `InvalidRequest` if the server can't be added to the text."""
    before = parse(text)
    if added.mcp is None or added.mcp.name in as_object(before.get(_SERVERS)):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if is_blank(text) else newline if text.endswith("\n") else 2 * newline
    after = f"{text}{gap}{newline.join(_lines(added.mcp))}{newline}"
    expected = deepcopy(before)
    try:
        expected.setdefault(_SERVERS, {})[added.mcp.name] = _value(added.mcp)
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
        after = _cut(after, table)
    expected = deepcopy(now)
    del expected[_SERVERS][server.name]
    try:
        left = parse(after)
    except InvalidRequest:
        left = {}
    if own and _without_empty(left) == _without_empty(expected):
        return after
    raise InvalidRequest(f'"{_SERVERS}.{server.name}" is no table of its own; take it out by hand')


def _cut(text: str, table: Table) -> str:
    """Returns the text without a table, and without a blank line before it that separates nothing any more."""
    head, tail = text[: table.start], text[table.end :]
    shorter = head.removesuffix("\n").removesuffix("\r")
    if shorter.endswith("\n") and (not tail or tail.lstrip("\r").startswith("\n")):
        head = shorter
    return head + tail


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != _SERVERS or each}


def _value(server: McpServer) -> dict[str, Any]:
    value: dict[str, Any] = {"command": server.command, "args": [*server.arguments]}
    return {**value, "env_vars": [*server.variables]} if server.variables else value


def _lines(server: McpServer) -> Iterator[str]:
    yield f"[{_SERVERS}.{server.name}]"
    for key, value in _value(server).items():
        yield f"{key} = {_text(value)}"


def _text(value: str | list[str]) -> str:
    """Returns a text or texts in TOML, which writes them as JSON does but for one more character that needs an
    escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
