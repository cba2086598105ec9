"""A file with wrong values in the right places is read as far as it goes, or refused with an `InputError`."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support.samples import SAMPLES, samples
from ullage.agents.transcripts import detect_format, read_document
from ullage.formats.parsing import Document, Line, parse_document
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
