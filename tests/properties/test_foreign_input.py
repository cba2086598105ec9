"""For every input, however wrong, a reader returns a transcript or raises `InputError`."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.agents.transcripts import format_names, read
from ullage.formats.transcripts.message_lists import Header
from ullage.model.errors import InputError
from ullage.model.events import Event

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
