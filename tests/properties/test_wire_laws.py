"""Adding to settings and taking it out again: for any settings, however they are written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.system.wired_files import apply, plan_adding, plan_removing
from ullage.wire.added import Added, HookEntry, add, old_line, take_out
from ullage.wire.json_text import read_text

OURS = "[ -x /opt/u ] && /opt/u hook it 2>/dev/null || true"
ADDED = Added(
    hooks=(
        HookEntry(event="SessionStart", matcher="compact|resume", command=OURS, timeout=5),
        HookEntry(event="SubagentStop", matcher="", command=OURS, timeout=5),
    ),
    status_line="/opt/u statusline -- 'date'",
)
_TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
_SCALARS = st.none() | st.booleans() | st.integers(-1000, 1000) | _TEXTS
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3))
_HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": _TEXTS})
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_HANDLER, max_size=2)}, optional={"matcher": _TEXTS})
_EVENTS = st.sampled_from(["SessionStart", "SubagentStop", "Stop", "PreToolUse"])
_KNOWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(_EVENTS, st.lists(_GROUP, max_size=2), max_size=3),
        "statusLine": st.fixed_dictionaries({}, optional={"type": st.just("command"), "command": _TEXTS}),
        "model": _TEXTS,
    },
)
_OTHERS = st.dictionaries(_TEXTS.filter(lambda key: key not in ("hooks", "statusLine")), _VALUES, max_size=3)


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
def texts(draw: st.DrawFn) -> str:
    """Settings as text, written in one of many ways."""
    value, indent, shape = draw(VALUES), draw(st.sampled_from(_INDENTS)), draw(st.sampled_from(_SHAPES))
    return shape(_write(value, indent, ascii_only=draw(st.booleans())))


TEXTS = texts()


def _cut(text: str) -> str:
    return text[:-2]


def _both(other: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    return {**other, **known}


VALUES: st.SearchStrategy[dict[str, Any]] = st.builds(_both, _OTHERS, _KNOWN)


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
    kept = {key: each for key, each in value.items() if key not in ("hooks", "statusLine")}
    assert kept == {key: each for key, each in before.items() if key not in ("hooks", "statusLine")}
    assert add(after, ADDED) == after


@given(TEXTS, _VALUES)
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
    change, receipt = plan_adding(path, ADDED, None)
    apply(change)
    assert OURS.encode() in path.read_bytes()
    again, receipt = plan_adding(path, ADDED, receipt)
    assert again.is_empty
    apply(plan_removing(receipt))
    assert path.read_bytes() == text.encode()


@given(st.text(max_size=30) | TEXTS.map(_cut))
def test_what_is_not_settings_is_refused_or_read_and_never_a_crash(text: str) -> None:
    try:
        after = add(text, ADDED)
    except InputError:
        return
    assert isinstance(_value(after), dict)
