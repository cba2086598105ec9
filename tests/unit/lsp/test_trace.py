"""The trace of a connection."""

import json
import stat
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import frame
from support.systems import needs_modes
from ullage.lsp.server import Trace, open_trace
from ullage.model.errors import InvalidRequest


def ask(request_id: int, method: str = "context/get", params: Any = None) -> bytes:
    return frame({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def set_trace(value: str) -> bytes:
    return frame({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": value}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "trace.jsonl"


@pytest.fixture
def trace(path: Path) -> Iterator[Trace]:
    with closing(open_trace(path, count(1_000).__next__)) as trace:
        yield trace


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_messages_of_both_sides_are_written_in_order_with_their_times(trace: Trace, path: Path) -> None:
    trace.receive(ask(1, params={"sessionId": "a"}))
    trace.send(frame({"jsonrpc": "2.0", "id": 1, "result": {"used": 3}}))
    request = {"jsonrpc": "2.0", "id": 1, "method": "context/get", "params": {"sessionId": "a"}}
    assert lines(path) == [
        {"timestamp": 1_000, "from": "client", "message": request},
        {"timestamp": 1_001, "from": "server", "message": {"jsonrpc": "2.0", "id": 1, "result": {"used": 3}}},
    ]


def test_a_message_is_written_once_in_whatever_pieces_it_comes(trace: Trace, path: Path) -> None:
    for byte in ask(1) + ask(2):
        trace.receive(bytes([byte]))
    assert [line["message"]["id"] for line in lines(path)] == [1, 2]


def test_a_client_can_turn_the_trace_off_and_on_again(trace: Trace, path: Path) -> None:
    trace.receive(ask(1) + set_trace("off") + ask(2))
    trace.send(frame({"jsonrpc": "2.0", "id": 2, "result": None}))
    trace.receive(set_trace("verbose") + ask(3))
    assert [line["message"].get("id") for line in lines(path)] == [1, None, 3]


def test_the_level_messages_leaves_contents_out(trace: Trace, path: Path) -> None:
    trace.receive(set_trace("messages") + ask(2, params={"text": "private"}))
    trace.send(frame({"jsonrpc": "2.0", "id": 2, "result": "private"}))
    assert [line["message"] for line in lines(path)[1:]] == [{"id": 2, "method": "context/get"}, {"id": 2}]


def test_text_about_the_level_is_not_a_request_for_it(trace: Trace, path: Path) -> None:
    trace.receive(ask(1, params={"text": '{"method": "$/setTrace", "params": {"value": "off"}}'}) + ask(2))
    assert len(lines(path)) == 2


def test_what_is_no_message_is_written_as_text(trace: Trace, path: Path) -> None:
    trace.receive(b"Content-Length: 3\r\n\r\n{\xff}" + b"Content-Type: x\r\n\r\n")
    assert [line["text"] for line in lines(path)] == ["{\ufffd}", "A message header has no Content-Length."]


def test_a_trace_is_appended_to(trace: Trace, path: Path) -> None:
    trace.receive(ask(1))
    trace.close()
    with closing(open_trace(path, lambda: 0)) as second:
        second.receive(ask(2))
    assert [line["message"]["id"] for line in lines(path)] == [1, 2]


@needs_modes
def test_a_trace_is_readable_by_its_user_alone(trace: Trace, path: Path) -> None:
    trace.receive(ask(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_trace_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="choose another file"):
        open_trace(tmp_path, lambda: 0)
