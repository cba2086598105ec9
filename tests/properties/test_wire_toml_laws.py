"""Adding the MCP server to settings in TOML and taking it out again: for any settings, however they are written."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.settings_texts import toml_texts
from ullage.model.errors import InputError
from ullage.wire.added import add, take_out
from ullage.wire.plan import Added, McpServer

SERVER = McpServer(name="ullage", command="/opt/ü \\u", arguments=("mcp", 'a "b"'), variables=("A", "B"))
ADDED = Added(syntax="toml", mcp=SERVER)
TEXTS = toml_texts()
OWN = {"command": "/opt/ü \\u", "args": ["mcp", 'a "b"'], "env_vars": ["A", "B"]}


def _value(text: str) -> Any:
    return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@given(TEXTS)
def test_the_server_is_added_and_nothing_else_changes(text: str) -> None:
    after = add(text, ADDED)
    before = _value(text)
    assert after.startswith(text)
    servers = {"ullage": OWN, **before.get("mcp_servers", {})}
    assert _value(after) == {**before, "mcp_servers": servers}
    assert add(after, ADDED) == after


@given(
    TEXTS, st.sampled_from(["", "\n[zz]\na = 1 # b\n", "# new\n", "[mcp_servers.ullage.tools.search]\napproval = 1\n"])
)
def test_the_server_is_taken_out_whatever_the_user_has_changed_since(text: str, new: str) -> None:
    added = add(text, ADDED)
    if "ullage" in _value(text).get("mcp_servers", {}):
        assert take_out(added, ADDED, text) == text
        return
    line = "# first\r\n" if "\r\n" in text else "# first\n"
    begin = 1 if text.startswith("\ufeff") else 0
    after = take_out(f"{added[:begin]}{line}{added[begin:]}{new}", ADDED, text)
    kept = new if "ullage" not in new else ""
    assert _lines(after) == _lines(f"{text[:begin]}{line}{text[begin:]}\n{kept}")
    assert _value(after) == _value(f"{text}\n{kept}")


@given(st.text(max_size=30) | TEXTS.map(lambda text: text[:-2]))
def test_what_is_not_toml_is_refused_or_read_and_never_a_crash(text: str) -> None:
    try:
        after = add(text, ADDED)
        _value(take_out(after, ADDED, text))
    except InputError:
        return
    assert _value(after)["mcp_servers"]["ullage"]
