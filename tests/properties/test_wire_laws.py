"""Adding to settings and taking it out again: for any settings, however they are written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.settings_texts import ANY, PLACES, json_texts
from ullage.app.agent_wiring import plan_adding, plan_removing
from ullage.model.errors import InputError
from ullage.system.settings_files import apply
from ullage.wire.added import add, take_out
from ullage.wire.json_files import old_line, read_text
from ullage.wire.plan import Added, HookEntry, McpServer

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
