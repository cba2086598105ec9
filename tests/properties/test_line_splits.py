"""Lines do not depend on how the bytes are split, and no byte is lost."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.jsonrpc.envelope import LineSplitter, LineTooLong

streams = st.lists(st.one_of(st.binary(max_size=40), st.just(b"\n"), st.just(b"x" * 60)), max_size=8).map(b"".join)


@given(stream=streams, data=st.data())
def test_every_split_of_the_stream_gives_the_same_lines(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    parts = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(parts, 50) == read([stream], 50) == read([bytes([byte]) for byte in stream], 50)


@given(stream=streams)
def test_the_lines_and_the_rest_are_the_stream(stream: bytes) -> None:
    lines, rest = read([stream], 10_000)
    assert b"".join(line for line in lines if isinstance(line, bytes)) + rest == stream


def read(parts: list[bytes], max_line: int) -> tuple[list[bytes | LineTooLong], bytes]:
    splitter = LineSplitter(max_line)
    return [item for part in parts for item in splitter.feed(part)], splitter.end()
