"""A connection of the Language Server Protocol: Content-Length framing, what Ullage depends on of pygls, and the
trace."""

import ast
import json
import stat
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_client import frame
from support.systems import needs_modes
from ullage.jsonrpc.envelope import MAX_HEADER, BadFrame, FrameParser
from ullage.lsp.connection import LspConnection, Pygls
from ullage.lsp.server import Trace, open_trace
from ullage.model.errors import InvalidRequest


def bodies(*chunks: bytes, max_body: int = 1000) -> list[bytes | bytearray | str]:
    parser = FrameParser(max_body)
    items = [item for chunk in chunks for item in parser.feed(chunk)]
    return [item.reason if isinstance(item, BadFrame) else item for item in items]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"Content-Length: 2\n\n",
    ],
)
def test_headers_are_understood_in_every_spelling(header: bytes) -> None:
    assert bodies(header + b"{}" + frame(b"[]")) == [b"{}", b"[]"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"Content-Type: text\r\n\r\n{}", "no Content-Length"),
        (b"\r\n\r\n{}", "no Content-Length"),
        (b"Content-Length: -5\r\n\r\n{}", "not a number"),
        (b"Content-Length: 0x10\r\n\r\n{}", "not a number"),
        (b"Content-Length: \r\n\r\n{}", "not a number"),
        (b"Content-Length: 1001\r\n\r\n{}", "longer than 1000"),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}", "longer than 1000"),
        (b"x" * (MAX_HEADER + 1), "no end within"),
    ],
)
def test_a_broken_header_is_refused_once_and_the_next_message_is_read(broken: bytes, reason: str) -> None:
    refusal, body = bodies(broken + frame(b"{}"))
    assert isinstance(refusal, str)
    assert reason in refusal
    assert body == b"{}"


def test_garbage_without_end_is_refused_once_and_not_kept() -> None:
    parser = FrameParser()
    refusals = [item for _ in range(100) for item in parser.feed(b"\x00" * 1000)]
    assert len(refusals) == 1
    assert parser.feed(frame(b"{}")) == [b"{}"]


@pytest.mark.parametrize("torn", [b"Content-Le", b"Content-Length: 5\r\n\r\n{", b"Content-Length: 5\r\n\r\n"])
def test_a_stream_that_ends_inside_a_message_says_so(torn: bytes) -> None:
    parser = FrameParser()
    assert parser.feed(frame(b"{}") + torn) == [b"{}"]
    assert [refusal.reason for refusal in parser.end()] == ["The stream ended inside a message."]


def test_large_and_small_bodies_are_read_in_order_however_they_are_divided() -> None:
    wanted = [b"{}", b"a" * 2_000_000, b"b", b"c" * (1 << 20), b"d" * 3_000_000, b"{}"]
    stream = b"".join(map(frame, wanted))
    for size in (len(stream), 1_000_003, 1 << 16):
        parser = FrameParser()
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert [item for part in parts for item in parser.feed(part)] == wanted
        assert parser.end() == []


def test_a_large_body_is_not_copied() -> None:
    size = 20_000_000
    part = b"x" * 100_000
    parser = FrameParser()
    tracemalloc.start()
    try:
        parser.feed(b"Content-Length: %d\r\n\r\n" % size)
        found = [item for _ in range(size // len(part)) for item in parser.feed(part)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(item) for item in found if not isinstance(item, BadFrame)] == [size]
    # A growing buffer has some room to spare.
    assert peak < 1.5 * size


LSP = Path(__file__).resolve().parents[3] / "server" / "ullage" / "lsp"
# The versions of pygls whose source was read: `handle_message` writes the answer to `initialize` to the given writer,
# in one piece and without headers. Add the next version when these tests pass with it.
KNOWN = ("2.1.",)


def pygls_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pygls":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pygls")


def test_only_public_names_of_pygls_are_imported() -> None:
    imported = {name for path in LSP.glob("*.py") for name in pygls_imports(path)}
    assert imported == {
        "pygls.lsp.server.LanguageServer",
        "pygls.protocol.default_converter",
        "pygls.uris.to_fs_path",
    }


def test_no_class_of_pygls_is_extended_and_no_private_attribute_of_it_touched() -> None:
    tree = ast.parse((LSP / "connection.py").read_text())
    bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    touched = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).startswith("self._server")
    }
    assert "LanguageServer" not in bases
    assert touched == {
        "self._server.protocol",
        "self._server.protocol.set_writer",
        "self._server.protocol.handle_message",
    }


def test_the_installed_pygls_is_one_that_was_read() -> None:
    installed = version("pygls")
    assert installed.startswith(KNOWN), (
        f"pygls {installed} is not one of {KNOWN}. Check that protocol.set_writer(writer, include_headers=False) and "
        "protocol.handle_message(message) are still public and still give the answer to initialize to writer.write as "
        "one JSON body, then add the version to KNOWN."
    )


async def test_initialize_is_answered_by_pygls_through_its_writer_and_nothing_is_kept() -> None:
    pygls = Pygls("ullage", "0.0.test", LspConnection().converter)
    params = types.InitializeParams(capabilities=types.ClientCapabilities())
    for _ in range(3):
        result = await pygls.initialize(params)
        assert result["serverInfo"] == {"name": "ullage", "version": "0.0.test"}
        assert "positionEncoding" in result["capabilities"]


async def test_a_failure_inside_pygls_is_an_error_not_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("pygls.protocol.language_server.ServerCapabilitiesBuilder.choose_position_encoding", fail)
    pygls = Pygls("ullage", "0", LspConnection().converter)
    with pytest.raises(RuntimeError, match="pygls did not initialize"):
        await pygls.initialize(types.InitializeParams(capabilities=types.ClientCapabilities()))


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
