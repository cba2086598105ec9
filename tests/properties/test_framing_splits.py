"""Framing does not depend on how the bytes are split."""

from hypothesis import given
from hypothesis import strategies as st

from support.lsp_client import frame
from ullage.jsonrpc.envelope import BadFrame, FrameParser, LineSplitter, LineTooLong

broken = st.sampled_from(
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999\r\n\r\nabc",
        b"Content-Type: x\r\n\r\n{}",
        b"garbage\r\n\r\n",
        b"\r\n\r\n",
        b"\n\r\n",
        b"content-length:",
        b"\r",
        b"x" * 30,
    ]
)
streams = st.lists(st.one_of(st.binary(max_size=40).map(frame), broken), max_size=8).map(b"".join)


@given(stream=streams, data=st.data())
def test_every_split_of_the_stream_reads_alike(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    parts = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(parts) == read([stream]) == read([bytes([byte]) for byte in stream])


@given(bodies=st.lists(st.binary(max_size=200)))
def test_what_was_framed_is_read(bodies: list[bytes]) -> None:
    assert read([b"".join(map(frame, bodies))]) == (bodies, [])


def read(parts: list[bytes]) -> tuple[list[bytes | bytearray | BadFrame], list[BadFrame]]:
    parser = FrameParser(max_body=1000, max_header=60)
    return [item for part in parts for item in parser.feed(part)], parser.end()


# Lines do not depend on how the bytes are split, and no byte is lost


lines_of_streams = st.lists(st.one_of(st.binary(max_size=40), st.just(b"\n"), st.just(b"x" * 60)), max_size=8).map(
    b"".join
)


@given(stream=lines_of_streams, data=st.data())
def test_every_split_of_the_stream_gives_the_same_lines(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    parts = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read_lines(parts, 50) == read_lines([stream], 50) == read_lines([bytes([byte]) for byte in stream], 50)


@given(stream=lines_of_streams)
def test_the_lines_and_the_rest_are_the_stream(stream: bytes) -> None:
    lines, rest = read_lines([stream], 10_000)
    assert b"".join(line for line in lines if isinstance(line, bytes)) + rest == stream


def read_lines(parts: list[bytes], max_line: int) -> tuple[list[bytes | LineTooLong], bytes]:
    splitter = LineSplitter(max_line)
    return [item for part in parts for item in splitter.feed(part)], splitter.end()
