"""Frames, right and wrong, however their bytes are split: each wrong one gets the answer it is owed at each door, and
the proxy forwards it unchanged."""

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.doors import DOORS, LONGEST, NOT_JSON, NOTHING, TOO_LONG, fuzz, owed
from attacks.frames import ACP_METHODS, FrameMaker
from support.lsp_client import frame
from support.proxy_rig import running
from ullage.jsonrpc.envelope import BadFrame, FrameParser, LineSplitter, LineTooLong
from ullage.proxy.lines import LineCutter, Piece


@pytest.mark.parametrize("door", list(DOORS))
async def test_every_wrong_frame_gets_the_answer_it_is_owed_and_harms_nothing(door: str, tmp_path: Path) -> None:
    assert await fuzz(DOORS[door](tmp_path / "sessions.db"), seed=7, numbers=range(1_500)) == []


def test_a_seed_and_a_number_give_the_same_frame_again_and_frames_of_every_kind_come() -> None:
    maker, again = (FrameMaker(7, ACP_METHODS, "_ullage/", "s", LONGEST) for _ in range(2))
    frames = [maker.make(number) for number in range(2_000)]
    assert frames[:50] == [again.make(number) for number in range(50)]
    kinds = {frame.kind for frame in frames}
    assert kinds >= {"truncated", "oversized", "deeply_nested", "wrong_typed", "out_of_order", "not_utf8", "batched"}
    assert len(maker.oversized(random.Random(1))) > LONGEST


def test_what_is_owed_is_found_by_another_reader_than_the_door_s() -> None:
    assert owed(b"nonsense") == NOT_JSON
    assert owed(b'{"jsonrpc":"2.0","method":"x"}') == NOTHING
    assert owed(b'{"jsonrpc":"2.0","id":1,"result":{}}') == NOTHING
    assert owed(b"[]") == TOO_LONG
    assert owed(b'{"jsonrpc":"2.0","id":"a","method":"x"}').ids == ("a", None)


# An agent that keeps every byte it gets, and answers each request that it can read.
KEEPER = """
import json, sys
with open(sys.argv[1], "wb", buffering=0) as log:
    for line in sys.stdin.buffer:
        log.write(line)
        try:
            message = json.loads(line)
            wanted = {"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": "s", "protocolVersion": 1}}
            assert message["method"] in ("initialize", "session/new")
        except Exception:
            continue
        print(json.dumps(wanted), flush=True)
"""
FRAMES = 1_000


async def test_the_agent_gets_them_byte_for_byte_and_in_order_and_the_proxy_lives_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    maker = FrameMaker(7, ACP_METHODS, "_other/", "s", longest=10_000)
    frames = [maker.make(number).body.replace(b"\n", b" ") for number in range(FRAMES)]
    async with running([sys.executable, "-S", "-c", KEEPER, str(log)], tmp_path) as rig:
        await rig.ask("initialize", protocolVersion=1)
        for frame in frames:
            rig.send_line(frame + b"\n")
        assert (await rig.ask("session/new", cwd="/project", mcpServers=[]))["sessionId"] == "s"
    came = log.read_bytes().split(b"\n")[1:-2]
    assert came == frames


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
