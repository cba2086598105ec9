"""Whatever a file holds, a bounded part of it is in memory, and what is whole in it is read."""

import gzip
import json
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ullage.formats.parsing import Line
from ullage.model.errors import InvalidRequest
from ullage.service.ports.agent_files import Appended, Pieces, Replaced
from ullage.system.growing_files import GrowingFiles
from ullage.system.transcript_files import read_transcript_file

_MIB = 1 << 20


def record(number: int, size: int = 10) -> bytes:
    return json.dumps({"number": number, "text": "x" * size}).encode() + b"\n"


def read(path: Path, pieces: Pieces) -> tuple[list[Line], int]:
    """Returns the lines of a file, read to its end, and how far the file was read."""
    files, mark, lines = GrowingFiles(), None, list[Line]()
    while True:
        growth = files.read_on(path, mark, pieces=pieces)
        assert isinstance(growth, Appended | Replaced)
        lines += growth.lines if isinstance(growth, Appended) else growth.document.lines
        mark = growth.mark
        if not growth.more:
            return lines, mark.offset


def numbers(lines: list[Line]) -> list[int]:
    return [line.value["number"] for line in lines if line.value]


@contextmanager
def at_most(size: int) -> Generator[None]:
    """Fails if the block has more bytes in memory at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pieces", [Pieces.LARGE, Pieces.NONE])
def test_a_line_that_is_too_long_is_passed_over_and_named(tmp_path: Path, pieces: Pieces) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(record(1) + record(2, 70 * _MIB) + record(3))
    with at_most(300 * _MIB):
        lines, offset = read(path, pieces)
    assert numbers(lines) == [1, 3]
    assert [line.number for line in lines] == [1, 2, 3]
    assert "64 MiB" in lines[1].text
    assert offset == path.stat().st_size
    document = read_transcript_file(path)
    assert numbers([*document.lines]) == [1, 3]


def test_a_last_line_without_an_end_is_not_read_again_and_again(tmp_path: Path) -> None:
    path, files = tmp_path / "log.jsonl", GrowingFiles()
    path.write_bytes(record(1) + record(2) + b"x" * (70 * _MIB))
    first = files.read_on(path, None)
    assert isinstance(first, Replaced)
    assert first.mark.offset == path.stat().st_size
    with path.open("ab") as file:
        file.write(b"x\n" + record(3))
    growth = files.read_on(path, first.mark)
    assert isinstance(growth, Appended)
    assert numbers([*growth.lines]) == [3]


@pytest.mark.parametrize("size", [10 * _MIB, 3 << 30])
def test_zeros_that_a_power_cut_left_take_no_memory(tmp_path: Path, size: int) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(record(1) + record(2))
    with path.open("r+b") as file:
        file.truncate(size)
    with at_most(300 * _MIB):
        first = GrowingFiles().read_on(path, None)
        assert isinstance(first, Replaced)
        assert numbers([*first.document.lines]) == [1, 2]
        try:
            document = read_transcript_file(path)
        except InvalidRequest:
            assert size > _MIB << 10
        else:
            assert numbers([*document.lines]) == [1, 2]


def test_a_file_of_zeros_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    with at_most(300 * _MIB), pytest.raises(InvalidRequest, match="too large"):
        GrowingFiles().read_on(path, None, pieces=Pieces.NONE)


def test_zeros_before_a_record_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(record(1) + bytes(500) + record(2) + bytes(100) + b"\n" + bytes(9_000) + record(3))
    document = read_transcript_file(path)
    assert numbers([*document.lines]) == [1, 2, 3]
    assert all(line.value for line in document.lines)


@pytest.mark.parametrize("content", [bytes(_MIB), b"x" * _MIB])
def test_a_compressed_file_that_becomes_many_times_larger_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.jsonl"
    with gzip.open(path, "wb") as file:
        for _ in range(500):
            file.write(content)
    with at_most(300 * _MIB), pytest.raises(InvalidRequest, match="times its size"):
        read_transcript_file(path)
    with at_most(300 * _MIB), pytest.raises(InvalidRequest, match="times its size"):
        GrowingFiles().read_on(path, None)


def test_a_transcript_that_is_well_compressed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(record(number, 2_000) for number in range(5_000))))
    assert len(read_transcript_file(path).lines) == 5_000
