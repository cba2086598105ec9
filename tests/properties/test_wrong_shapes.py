"""A file with wrong values in the right places is read as far as it goes, or refused with an `InputError`."""

import json
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.databases import database
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document, Line, parse_document
from ullage.model.errors import InputError
from ullage.model.events import Event

T = 1_790_000_000_000
USAGE = {"input": 9, "output": 1, "cacheRead": 1}
CALL: dict[str, Any] = {"functionCall": {"id": "c", "name": "ls", "args": {}}}
RESPONSE: dict[str, Any] = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "x"}}}
KIMI = ("step.begin", "content.part", "tool.call", "tool.result", "step.end")
# One conversation in the shape of each format: lines of a log, a JSON value with the files next to it, or rows.
LOGS: dict[str, list[Any]] = {
    "gemini-cli": [
        {"sessionId": "s", "projectHash": "p", "kind": "main"},
        {"id": "u", "type": "user", "timestamp": T, "content": [{"text": "hi"}]},
        {
            "id": "g",
            "type": "gemini",
            "timestamp": T,
            "content": [CALL],
            "tokens": {"input": 9, "output": 1},
            "model": "m",
        },
        {"id": "r", "type": "user", "timestamp": T, "content": [RESPONSE]},
        {"$set": {"messages": [{"id": "k", "type": "user", "content": "<state_snapshot>"}], "summary": "t"}},
        {"$rewindTo": "k"},
    ],
    "pi": [
        {"type": "session", "id": "s", "timestamp": T, "cwd": "/w", "parentSession": "a_b.jsonl"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hi"}},
        {
            "type": "message",
            "id": "b",
            "parentId": "a",
            "message": {"role": "assistant", "content": [], "usage": USAGE},
        },
        {"type": "compaction", "id": "k", "parentId": "b", "summary": "s", "firstKeptEntryId": "a", "tokensBefore": 9},
    ],
    "kimi-code": [
        {"type": "metadata", "protocol_version": "1.5"},
        {"type": "context.append_message", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
        *(
            {
                "type": "context.append_loop_event",
                "event": {"type": kind, "uuid": "s", "part": {"type": "text", "text": "x"}},
            }
            for kind in KIMI
        ),
        {"type": "context.apply_compaction", "summary": "s", "keptUserMessageCount": 1, "keptHeadUserMessageCount": 0},
        {"type": "context.undo", "count": 1},
    ],
    "goose": [
        {"working_dir": "/w", "message_count": 2, "input_tokens": 9, "output_tokens": 1},
        {
            "role": "user",
            "created": T,
            "content": [{"type": "text", "text": "hi"}],
            "metadata": {"agentVisible": False},
        },
        {"role": "user", "created": T, "content": [{"type": "toolResponse", "id": "c", "toolResult": {"value": []}}]},
    ],
}
EVENT = {"kind": "ActionEvent", "id": "a", "llm_response_id": "r", "tool_call": {"name": "ls", "arguments": "{}"}}
STATE = {"persistence_dir": "/p", "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/w"}}
METRICS = {"usage_to_metrics": {"agent": {"token_usages": [{"response_id": "r", "prompt_tokens": 9}]}}}
SAID = {"id": "u", "role": "user", "content": [{"type": "text", "text": "<environment_details>"}], "ts": T}
SHOWN = {
    "say": "api_req_started",
    "ts": T,
    "text": json.dumps({"tokensIn": 9}),
    "conversationHistoryDeletedRange": [0, 0],
}
VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "opencode": (
        {
            "info": {"id": "s", "revert": {"messageID": "u"}},
            "messages": [
                {
                    "info": {"id": "u", "role": "user", "time": {"created": T}},
                    "parts": [{"type": "text", "text": "hi"}],
                },
                {
                    "info": {"id": "a", "role": "assistant", "tokens": {"input": 9, "cache": {"read": 1}}},
                    "parts": [{"type": "tool", "callID": "c", "tool": "ls", "state": {"output": "x", "input": {}}}],
                },
            ],
        },
        {},
    ),
    "cline": (
        {"sessionId": "s", "updated_at": "", "messages": [SAID]},
        {"s.json": {"cwd": "/w"}, "s.compaction.json": {"source_message_count": 1, "messages": [SAID]}},
    ),
    "cline-task": (
        [SAID, SAID | {"role": "assistant"}],
        {"ui_messages.json": [SHOWN], "history_item.json": {"id": "t"}},
    ),
    "openhands": (
        STATE | {"stats": METRICS},
        {
            "events/event-0-a.json": EVENT,
            "events/event-1-b.json": {"kind": "Condensation", "id": "k", "forgotten_event_ids": ["a"], "summary": "s"},
        },
    ),
}
PARTS = [
    {"type": "text", "data": {"text": "hi"}},
    {"type": "tool_result", "data": {"tool_call_id": "c", "content": "x"}},
]
ROWS: dict[str, list[tuple[str, Any]]] = {
    "crush": [
        ("sessions", {"id": "s", "title": "t", "updated_at": 1, "prompt_tokens": 9, "summary_message_id": None}),
        ("messages", {"id": "u", "session_id": "s", "role": "user", "parts": PARTS, "is_summary_message": 0}),
    ],
    "goose": [
        ("sessions", {"id": "s", "working_dir": "/w", "name": "t", "input_tokens": 9, "accumulated_total_tokens": 9}),
        ("messages", {"id": 1, "session_id": "s", "role": "user", "content_json": [{"type": "text", "text": "hi"}]}),
    ],
    "opencode": [
        ("session", {"id": "s", "project_id": "p", "directory": "/w", "time_updated": 1}),
        ("message", {"id": "u", "session_id": "s", "data": {"role": "user", "time": {"created": T}}}),
        ("part", {"id": "p", "message_id": "u", "data": {"type": "text", "text": "hi"}}),
    ],
}
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


@pytest.mark.parametrize("name", LOGS)
@given(st.data())
def test_a_log_of_wrong_shapes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    lines = broken(LOGS[name], data)
    text = "\n".join(map(json.dumps, cast("list[Any]", lines) if isinstance(lines, list) else [lines]))
    expect_no_other_error(parse_document(text.encode(), "wrong.jsonl"), name)


@pytest.mark.parametrize("name", VALUES)
@given(st.data())
def test_a_value_of_wrong_shapes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    value, files = VALUES[name]
    companions = tuple(Document(name=file, value=broken(held, data)) for file, held in files.items())
    expect_no_other_error(Document(name="wrong.json", value=broken(value, data), companions=companions), name)


@pytest.mark.parametrize("name", ROWS)
@given(st.data())
def test_rows_of_wrong_shapes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    rows = [(table, {key: broken(item, data) for key, item in row.items()}) for table, row in ROWS[name]]
    expect_no_other_error(database("wrong.db", *rows), name)


def test_each_of_these_conversations_is_read_as_it_stands() -> None:
    for name, lines in LOGS.items():
        held = tuple(Line(number=number, value=line) for number, line in enumerate(lines, start=1))
        assert read_document(Document(name="log", lines=held)).format == name
    for name, (value, files) in VALUES.items():
        companions = tuple(Document(name=file, value=held) for file, held in files.items())
        assert read_document(Document(name="value", value=value, companions=companions)).format == name
    for name, rows in ROWS.items():
        assert read_document(database("rows", *rows)).format == name
