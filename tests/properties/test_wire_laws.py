"""Adding to settings and taking it out again: for any settings, however they are written."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.agents.table import AGENTS
from ullage.agents.wiring import SettingsFile
from ullage.app.agent_wiring import OwnCommand, added_to, plan_adding, plan_removing
from ullage.model.errors import InputError
from ullage.system.settings_files import apply
from ullage.wire.added import add, take_out
from ullage.wire.json_files import old_line, read_text
from ullage.wire.plan import Added, HookEntry, McpServer

_TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
_SCALARS = st.none() | st.booleans() | st.integers(-1000, 1000) | _TEXTS
ANY = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3))
_HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": _TEXTS})
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_HANDLER, max_size=2)}, optional={"matcher": _TEXTS})
_SERVER = st.fixed_dictionaries({"command": _TEXTS}, optional={"args": st.lists(_TEXTS, max_size=2)})
_LOCAL = st.fixed_dictionaries({"type": st.just("local"), "command": st.lists(_TEXTS, max_size=2)})
_EVENTS = st.sampled_from(["SessionStart", "SubagentStop", "Stop", "PreToolUse"])
_KNOWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(_EVENTS, st.lists(_GROUP, max_size=2), max_size=3),
        "statusLine": st.fixed_dictionaries({}, optional={"type": st.just("command"), "command": _TEXTS}),
        "mcpServers": st.dictionaries(_TEXTS | st.just("ullage"), _SERVER, max_size=2),
        "mcp": st.dictionaries(_TEXTS | st.just("ullage"), _LOCAL, max_size=2),
        "model": _TEXTS,
    },
)
PLACES = ("hooks", "statusLine", "mcpServers", "mcp")
_OTHERS = st.dictionaries(_TEXTS.filter(lambda key: key not in PLACES), ANY, max_size=3)


def _both(other: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    return {**other, **known}


VALUES: st.SearchStrategy[dict[str, Any]] = st.builds(_both, _OTHERS, _KNOWN)


def _write(value: Any, indent: int | str | None, *, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


def _commented(text: str) -> str:
    """Puts a comment at the end of each line, and a trailing comma before each closing bracket of a line's own."""
    lines = text.split("\n")
    for place, line in enumerate(lines[:-1]):
        comma = "," if lines[place + 1].strip()[:1] in "]}" and line.strip()[-1:] not in ("[", "{", ",") else ""
        lines[place] = f"{line}{comma} // a note, {{"
    return "\n".join(["/* ours */", *lines])


_SHAPES: tuple[Callable[[str], str], ...] = (
    str,
    _commented,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: f"\ufeff{text}\n",
    lambda text: f"\n{text}\n\n",
)
_INDENTS: tuple[int | str | None, ...] = (None, 0, 2, 4, "\t")


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Settings as text, written in one of many ways."""
    value, indent, shape = draw(VALUES), draw(st.sampled_from(_INDENTS)), draw(st.sampled_from(_SHAPES))
    return shape(_write(value, indent, ascii_only=draw(st.booleans())))


_WORDS = st.from_regex(r"[a-z][a-z_]{0,7}", fullmatch=True)
_TOML_VALUES = st.sampled_from(
    [
        "1",
        "-0.5",
        "nan",
        "true",
        "1979-05-27T07:32:00Z",
        "'C:\\u'",
        '"a \\" # b"',
        '"""\n[mcp_servers.ullage]\n\\"""x"""',
        "'''\n# no comment\n[x]\n'''",
        "[1, # one ]\n  2,\n]",
        '{ a = "}", b = [{ c = 1 }] }',
    ]
)
_GAPS = st.sampled_from(["", "", "\n", "# a note [x]\n", "\n\n  # ullage\n"])
_ENDS = st.sampled_from(["\n", "  # why\n", "\t\n"])
_SERVERS = st.sampled_from(
    [
        "",
        "",
        '[mcp_servers.docs]\ncommand = "docs"\n',
        '[mcp_servers]\ndocs = { command = "docs" }\n',
        '[mcp_servers."a.b".env]\nA = "1"\n',
        '[mcp_servers.ullage]\ncommand = "own"\n[mcp_servers.ullage.env]\nA = "1"\n',
    ]
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Settings in TOML: keys at the root, tables, and lists of tables, with comments between them."""
    parts = [_keys_of(draw)]
    names = draw(st.lists(_WORDS, unique=True, max_size=4))
    for name in names:
        header = draw(
            st.sampled_from([f"[t_{name}]", f' [t_{name}."x y".z]', f"[[t_{name}]]", f"[[t_{name}]]\n[t_{name}.y]"])
        )
        parts += [draw(_GAPS), header, draw(_ENDS), _keys_of(draw)]
    parts.insert(draw(st.sampled_from([1, len(parts)])), draw(_SERVERS))
    text = "".join(parts) + draw(_GAPS)
    shape = draw(st.sampled_from(_TOML_SHAPES))
    return shape(text)


def _keys_of(draw: st.DrawFn) -> str:
    names = draw(st.lists(_WORDS, unique=True, max_size=3))
    return "".join(f"{draw(_GAPS)}k_{name} = {draw(_TOML_VALUES)}{draw(_ENDS)}" for name in names)


_TOML_SHAPES: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: f"\ufeff{text}",
    lambda text: text.rstrip("\n"),
    lambda text: text.replace(" = ", "="),
)


OURS = "[ -x /opt/u ] && /opt/u hook it 2>/dev/null || true"
ADDED = Added(
    hooks=(
        HookEntry(event="SessionStart", matcher="compact|resume", command=OURS, timeout=5),
        HookEntry(event="SubagentStop", matcher="", command=OURS, timeout=5),
    ),
    status_line="/opt/u statusline -- 'date'",
    mcp=McpServer(name="ullage", command="/opt/u", arguments=("mcp",)),
)
TEXTS = json_texts()


def _cut(text: str) -> str:
    return text[:-2]


def _value(text: str) -> Any:
    return read_text(text).value


@given(TEXTS)
def test_what_is_added_is_there_and_nothing_else_changes(text: str) -> None:
    after = add(text, ADDED)
    value, before = _value(after), _value(text)
    assert old_line(after) == ADDED.status_line
    for hook in ADDED.hooks:
        groups = before.get("hooks", {}).get(hook.event, [])
        assert value["hooks"][hook.event][: len(groups)] == groups
        assert value["hooks"][hook.event][-1]["hooks"][0]["command"] == OURS
    servers = before.get("mcpServers", {})
    assert value["mcpServers"] == {"ullage": {"command": "/opt/u", "args": ["mcp"]}, **servers}
    kept = {key: each for key, each in value.items() if key not in PLACES}
    assert kept == {key: each for key, each in before.items() if key not in PLACES}
    assert add(after, ADDED) == after


@given(TEXTS, ANY)
def test_what_was_added_is_taken_out_whatever_the_user_has_changed_since(text: str, other: Any) -> None:
    changed = add(text, ADDED)
    root = read_text(changed)
    begin = root.start + 1
    changed = f'{changed[:begin]}"zz new": {json.dumps(other)},{changed[begin:]}'
    after = take_out(changed, ADDED, text)
    assert _value(after) == {"zz new": other, **_value(text)}
    assert OURS not in after


def test_a_server_of_the_users_own_that_is_the_same_stays() -> None:
    before = '{"mcpServers": {"ullage": {"command": "/opt/u", "args": ["mcp"]}}}'
    assert take_out(add(before, ADDED), ADDED, before) == before


@given(TEXTS)
def test_taking_out_by_reading_gives_the_same_settings(text: str) -> None:
    assert _value(take_out(add(text, ADDED), ADDED, text)) == _value(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@given(TEXTS)
def test_wired_and_unwired_a_file_is_the_same_byte_for_byte(folder: Path, text: str) -> None:
    path = folder / "settings.json"
    path.write_bytes(text.encode())
    change, wired = plan_adding(path, ADDED, None)
    apply(change)
    assert OURS.encode() in path.read_bytes()
    again, wired = plan_adding(path, ADDED, wired)
    assert again.is_empty
    assert wired is not None
    apply(plan_removing(wired))
    assert path.read_bytes() == text.encode()


@given(st.text(max_size=30) | TEXTS.map(_cut))
def test_what_is_not_settings_is_refused_or_read_and_never_a_crash(text: str) -> None:
    try:
        after = add(text, ADDED)
    except InputError:
        return
    assert isinstance(_value(after), dict)


@pytest.mark.parametrize("emptied", ["", "\n", "\ufeff\r\n"])
def test_nothing_is_left_to_take_out_of_settings_that_the_user_has_emptied(tmp_path: Path, emptied: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}', encoding="utf-8")
    change, wired = plan_adding(path, ADDED, None)
    apply(change)
    assert wired is not None
    path.write_bytes(emptied.encode())
    assert plan_removing(wired).is_empty
    again, _ = plan_adding(path, ADDED, wired)
    apply(again)
    assert old_line(path.read_text(encoding="utf-8")) == ADDED.status_line


# Adding the MCP server to settings in TOML and taking it out again: for any settings, however they are written


SERVER = McpServer(name="ullage", command="/opt/ü \\u", arguments=("mcp", 'a "b"'), variables=("A", "B"))
IN_TOML = Added(syntax="toml", mcp=SERVER)
TOML_TEXTS = toml_texts()
OWN = {"command": "/opt/ü \\u", "args": ["mcp", 'a "b"'], "env_vars": ["A", "B"]}


def toml_value(text: str) -> Any:
    return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@given(TOML_TEXTS)
def test_the_server_is_added_and_nothing_else_changes(text: str) -> None:
    after = add(text, IN_TOML)
    before = toml_value(text)
    assert after.startswith(text)
    servers = {"ullage": OWN, **before.get("mcp_servers", {})}
    assert toml_value(after) == {**before, "mcp_servers": servers}
    assert add(after, IN_TOML) == after


@given(
    TOML_TEXTS,
    st.sampled_from(["", "\n[zz]\na = 1 # b\n", "# new\n", "[mcp_servers.ullage.tools.search]\napproval = 1\n"]),
)
def test_the_server_is_taken_out_whatever_the_user_has_changed_since(text: str, new: str) -> None:
    added = add(text, IN_TOML)
    if "ullage" in toml_value(text).get("mcp_servers", {}):
        assert take_out(added, IN_TOML, text) == text
        return
    line = "# first\r\n" if "\r\n" in text else "# first\n"
    begin = 1 if text.startswith("\ufeff") else 0
    after = take_out(f"{added[:begin]}{line}{added[begin:]}{new}", IN_TOML, text)
    kept = new if "ullage" not in new else ""
    assert _lines(after) == _lines(f"{text[:begin]}{line}{text[begin:]}\n{kept}")
    assert toml_value(after) == toml_value(f"{text}\n{kept}")


@given(st.text(max_size=30) | TOML_TEXTS.map(lambda text: text[:-2]))
def test_what_is_not_toml_is_refused_or_read_and_never_a_crash(text: str) -> None:
    try:
        after = add(text, IN_TOML)
        toml_value(take_out(after, IN_TOML, text))
    except InputError:
        return
    assert toml_value(after)["mcp_servers"]["ullage"]


# For every agent that Ullage can be added to, and any settings of it: added and taken out again, each file is the
# same byte for byte, and while Ullage is there, the agent still finds all that was there before


FILES = [
    pytest.param(agent.wiring.word, file, id=f"{agent.wiring.word} {number}")
    for agent in AGENTS
    if agent.wiring
    for number, file in enumerate(agent.wiring.files)
]
OWN_COMMAND = OwnCommand(words=("/opt/the u/ullage",), store=Path("/data/sessions.db"))
# A file of Ullage's own is only made where there is none, or nothing in it.
WRITTEN = {"json": json_texts(), "toml": toml_texts(), "whole": st.text(" \t\r\n", max_size=5)}


def _goes_there_and_back(path: Path, word: str, file: SettingsFile, data: bytes) -> None:
    path.write_bytes(data)
    change, wired = plan_adding(path, added_to(file, word, OWN_COMMAND, "date"), None)
    apply(change)
    if wired is None:
        assert path.read_bytes() == data
        return
    assert path.read_bytes() == wired.after != data
    apply(plan_removing(wired))
    assert path.read_bytes() == data


@pytest.mark.parametrize(("word", "file"), FILES)
@settings(max_examples=25)
@given(data=st.data())
def test_added_and_taken_out_settings_are_the_same(
    folder: Path, word: str, file: SettingsFile, data: st.DataObject
) -> None:
    _goes_there_and_back(folder / f"{word}.settings", word, file, data.draw(WRITTEN[file.syntax]).encode())


@pytest.mark.long
@pytest.mark.parametrize(("word", "file"), FILES)
@settings(max_examples=300)
@given(data=st.data())
def test_three_hundred_settings_of_each_file_are_the_same(
    folder: Path, word: str, file: SettingsFile, data: st.DataObject
) -> None:
    _goes_there_and_back(folder / f"{word}.settings", word, file, data.draw(WRITTEN[file.syntax]).encode())
