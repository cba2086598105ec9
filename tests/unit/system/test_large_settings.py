"""A program's own state of many megabytes is changed in one place, and the rest is not read piece by piece."""

import json
from typing import Any

import pytest

from ullage.model.errors import InvalidRequest
from ullage.wire import json_files
from ullage.wire.json_files import add, read_text, take_out
from ullage.wire.plan import Added, McpServer

ADDED = Added(mcp=McpServer(name="ullage", command="/opt/u", arguments=("mcp",)))


def _state(inside: str = "") -> str:
    projects = {f"/p{number}": {"history": [{"display": "a"}] * 20} for number in range(500)}
    text = json.dumps({"numStartups": 1, "projects": projects, "mcpServers": {}}, indent=2)
    return text.replace('"/p0"', f'{inside}"/p0"')


def test_what_is_not_changed_is_not_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, read = list[int](), vars(json_files)["_read"]

    def counted(text: str, at: int, depth: int) -> Any:
        pieces.append(at)
        return read(text, at, depth)

    monkeypatch.setattr(json_files, "_read", counted)
    text = _state()
    after = add(text, ADDED)
    assert json.loads(after)["mcpServers"]["ullage"]["command"] == "/opt/u"
    assert take_out(after, ADDED, text) == text
    assert len(pieces) < 200


@pytest.mark.parametrize("inside", ["// a comment\n", "/* a comment with } */ "])
def test_comments_in_what_is_not_changed_stay(inside: str) -> None:
    text = _state(inside)
    after = add(text, ADDED)
    assert inside in after
    assert take_out(after, ADDED, text) == text


@pytest.mark.parametrize("wrong", ["NaN", "{a: 1}", "[1", "Infinity", '"\\u12"'])
def test_what_is_no_json_is_refused_where_it_is_not_changed_too(wrong: str) -> None:
    with pytest.raises(InvalidRequest, match="not JSON"):
        read_text(f'{{"projects": [{wrong}], "mcpServers": {{}}}}')


@pytest.mark.parametrize(
    ("text", "unit"),
    [('{\n\t"a": 1\n}', "\t"), ('{\n   "a": 1\n}', "   "), ('{"a": 1}', "  "), ('{\n  \n    "a": 1\n}', "    ")],
)
def test_what_is_added_has_the_indentation_of_the_text(text: str, unit: str) -> None:
    assert f'\n{unit}"mcpServers": {{' in add(text, ADDED) or "\n" not in text
