"""One message per line: the end of a line, the longest line, and what is left at the end of the input."""

import pytest

from ullage.jsonrpc.envelope import LineSplitter, LineTooLong


def split(*chunks: bytes, max_line: int = 20) -> list[bytes | LineTooLong]:
    splitter = LineSplitter(max_line)
    return [item for chunk in chunks for item in splitter.feed(chunk)]


def test_a_line_comes_with_its_break_as_it_was_sent() -> None:
    assert split(b"{}\n[1]\r\n\n") == [b"{}\n", b"[1]\r\n", b"\n"]


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert split(b"a\rb\n") == [b"a\rb\n"]


@pytest.mark.parametrize("at", range(9))
def test_a_line_may_arrive_in_pieces(at: int) -> None:
    stream = b"ab\ncdef\n"
    assert split(stream[:at], stream[at:]) == [b"ab\n", b"cdef\n"]


def test_a_line_that_is_too_long_is_reported_once_and_skipped() -> None:
    assert split(b"x" * 15, b"x" * 15, b"x" * 15, b"x\nok\n") == [LineTooLong(20), b"ok\n"]


def test_a_line_too_long_in_one_piece_is_skipped_too() -> None:
    assert split(b"x" * 30 + b"\nok\n") == [LineTooLong(20), b"ok\n"]


def test_the_longest_line_allowed_is_taken() -> None:
    assert split(b"x" * 19 + b"\n") == [b"x" * 19 + b"\n"]


def test_what_has_no_break_is_left_at_the_end() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a\n"]
    assert (splitter.end(), splitter.end()) == (b"b", b"")
