"""Content-Length framing: what is accepted, what is refused, and how reading continues after a fault."""

import tracemalloc

import pytest

from support.lsp_client import frame
from ullage.jsonrpc.envelope import MAX_HEADER, BadFrame, FrameParser


def bodies(*chunks: bytes, max_body: int = 1000) -> list[bytes | bytearray | str]:
    parser = FrameParser(max_body)
    items = [item for chunk in chunks for item in parser.feed(chunk)]
    return [item.reason if isinstance(item, BadFrame) else item for item in items]


def test_bodies_are_cut_out_of_the_stream() -> None:
    assert bodies(frame(b"{}") + frame(b"[1]")) == [b"{}", b"[1]"]


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


def test_an_empty_body_is_a_body() -> None:
    assert bodies(frame(b"") + frame(b"{}")) == [b"", b"{}"]


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


def test_a_stream_that_ends_between_messages_has_nothing_to_say() -> None:
    parser = FrameParser()
    parser.feed(frame(b"{}"))
    assert parser.end() == []


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
