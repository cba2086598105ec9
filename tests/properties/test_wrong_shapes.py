"""For every input, however wrong, a reader returns a transcript or raises `InputError`; a file with wrong values in the
right places is read as far as it goes."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.samples import SAMPLES, samples
from ullage.agents.transcripts import detect_format, format_names, read, read_document
from ullage.formats.parsing import Document, Line, parse_document
from ullage.formats.transcripts.message_lists import Header
from ullage.model.errors import InputError
from ullage.model.events import Event

# The samples of each format.
DOCUMENTS: dict[str, list[Document]] = defaultdict(list)
for path in sorted(SAMPLES.glob("*.txt")):
    for sample in samples(path):
        DOCUMENTS[detect_format(sample.document).name].append(sample.document)
WRONGS: list[Any] = [None, [], {}, "", "x", "[1]", 0, -1, 1.5, True, [None], [[]], {"a": 1}, ["x", {}], 10**15]
WRONG: st.SearchStrategy[Any] = st.sampled_from(WRONGS)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every value within a value."""
    yield path
    if isinstance(value, dict | list):
        held: Any = cast("Any", value)
        keys: list[Any] = list(cast("Any", value)) if isinstance(value, dict) else list(range(len(held)))
        for key in keys:
            yield from places(held[key], (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Returns a copy of a value with another value at one place."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def broken(value: Any, data: st.DataObject) -> Any:
    """Returns the value with up to three wrong values in it."""
    for _ in range(data.draw(st.integers(1, 3))):
        found = list(places(value))
        value = changed(value, data.draw(st.sampled_from(found)), data.draw(WRONG))
    return value


def expect_no_other_error(document: Document, name: str) -> None:
    for format_name in (name, None):
        try:
            events = read_document(document, format_name).events
        except InputError:
            continue
        assert msgspec.json.decode(msgspec.json.encode(events), type=tuple[Event, ...]) == events


def decoded(value: Any) -> Any:
    """Returns the value of a column, which may be JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        return value


def broken_file(document: Document, data: st.DataObject) -> Document:
    """Returns a file with wrong values in it."""
    values: list[Any] = [line.value for line in document.lines]
    if not values:
        return replace(document, value=broken(document.value, data))
    if "row" not in (values[0] or {}):
        wrong: Any = broken(values, data)
        lines = cast("list[Any]", wrong if isinstance(wrong, list) else [wrong])
        return parse_document("\n".join(map(json.dumps, lines)).encode(), document.name)
    wrong = broken([{key: decoded(item) for key, item in value["row"].items()} for value in values], data)
    rows = cast("list[Any]", wrong if isinstance(wrong, list) else [])
    # A row has columns, whatever they hold.
    held = cast("list[dict[str, Any]]", [row if isinstance(row, dict) else {} for row in rows])
    tables = [{"table": value["table"], "row": row} for value, row in zip(values, held, strict=False)]
    return replace(document, lines=tuple(Line(number=at, value=value) for at, value in enumerate(tables, start=1)))


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
@given(st.data())
def test_a_file_of_wrong_shapes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(DOCUMENTS[name]))
    companions = tuple(broken_file(file, data) for file in document.companions)
    expect_no_other_error(replace(broken_file(document, data), companions=companions), name)


KEYS = (
    *("type", "role", "content", "message", "messages", "id", "uuid", "parentUuid", "text", "tool_calls", "function"),
    *("arguments", "tool_use_id", "usage", "input_tokens", "payload", "msg", "kind", "dir", "ts", "timestamp", "traj"),
    *("history", "trajectory", "llm_interactions", "input_messages", "response", "choices", "input", "source", "tools"),
    *("trajectory_format", "tool_result", "call_id", "isCompactSummary", "subtype", "ullage", "event", "position"),
)
WORDS = (
    *("user", "assistant", "system", "tool", "function", "text", "image", "tool_use", "tool_result", "thinking"),
    *("codex_event", "token_count", "agent_message", "exec_command_begin", "exec_command_end", "response_item"),
    *("message", "function_call", "mini-swe-agent-1", "compact_boundary", "a", "\ud800", "2026-01-01T00:00:00Z"),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, 1, -1, 2**80, 10**12, 0.5, float("nan"), float("inf"))),
    st.sampled_from(WORDS),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
FORMATS = st.sampled_from((None, *format_names()))
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)


def check(data: bytes, format_name: str | None) -> None:
    try:
        transcript = read(data, "x", format_name)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        encoded = msgspec.json.encode(transcript.events)
        assert msgspec.json.decode(encoded, type=tuple[Event, ...]) == transcript.events


@settings(max_examples=300)
@given(format_name=FORMATS, value=VALUES | OBJECTS)
def test_any_json_value_is_read_or_refused(format_name: str | None, value: Any) -> None:
    check(json.dumps(value).encode(), format_name)


@settings(max_examples=300)
@given(format_name=FORMATS, values=st.lists(OBJECTS, min_size=1, max_size=5), cut=st.integers(0, 30))
def test_any_torn_lines_are_read_or_refused(format_name: str | None, values: list[Any], cut: int) -> None:
    lines = "\n".join(json.dumps(value) for value in [msgspec.to_builtins(Header()) | {"ullage": 1}, *values])
    check(lines.encode()[: -cut or None], format_name)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check(data, None)
