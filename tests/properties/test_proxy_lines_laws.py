"""However a stream is split, the proxy forwards the same bytes, and reads whole lines."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ullage.proxy.lines import LineCutter, Piece

STREAMS = st.lists(st.sampled_from([b"a", b"{}", b"\r", b"\n", b"long enough"]), max_size=30).map(b"".join)
SIZES = st.lists(st.integers(min_value=1, max_value=9), max_size=30)


def cut(stream: bytes, sizes: Sequence[int], longest: int) -> list[Piece]:
    cutter = LineCutter(longest)
    pieces: list[Piece] = []
    for size in [*sizes, len(stream)]:
        pieces += cutter.feed(stream[:size])
        stream = stream[size:]
    return [*pieces, *cutter.end()]


@given(STREAMS, SIZES, st.integers(min_value=1, max_value=16))
def test_every_byte_comes_out_once_and_in_order(stream: bytes, sizes: list[int], longest: int) -> None:
    pieces = cut(stream, sizes, longest)
    assert b"".join(piece.data for piece in pieces) == stream
    assert all(piece.data.endswith(b"\n") for piece in pieces[:-1] if piece.ends)


@given(STREAMS, SIZES)
def test_messages_that_are_not_too_long_come_whole(stream: bytes, sizes: list[int]) -> None:
    stream = b"\n".join(b" {" + line for line in stream.split(b"\n"))
    lines = [line + b"\n" for line in stream.split(b"\n")]
    lines[-1] = lines[-1].removesuffix(b"\n")
    assert cut(stream, sizes, longest=1_000) == [Piece(line) for line in lines if line]
