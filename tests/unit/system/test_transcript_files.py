"""Transcripts on the disk: plain, compressed, in folders and in databases. Nothing is written next to them."""

import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from ullage.agents.table import AGENTS
from ullage.formats.parsing import Document, Line
from ullage.model.errors import InvalidRequest
from ullage.service.ports.agent_files import Appended, Pieces, Replaced
from ullage.system import growing_files
from ullage.system.growing_files import GrowingFiles, read_transcript_file
from ullage.watch import database_rows, unpacking

LINES = b'{"a": 1}\n{"b": 2}\n'


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_files, "conversation_tables", lambda: frozenset({"message"}))


def write_database(path: Path, *, log: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    if log:
        database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE message (id TEXT, data BLOB)")
    database.execute("CREATE TABLE account (secret TEXT)")
    database.execute("INSERT INTO message VALUES ('m1', ?), ('m2', ?)", (b"text", b"\xff\xfe"))
    database.commit()
    return database


def test_a_file_is_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(LINES)
    document = read_transcript_file(tmp_path / "t.jsonl", 2)
    assert (document.objects, document.run) == ([{"a": 1}, {"b": 2}], 2)


COMPRESSORS = pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])


@COMPRESSORS
def test_a_compressed_file_is_known_by_its_content(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    (tmp_path / "t").write_bytes(compress(LINES) + compress(b'{"c": 3}\n'))
    assert read_transcript_file(tmp_path / "t").objects == [{"a": 1}, {"b": 2}, {"c": 3}]


@COMPRESSORS
def test_a_compressed_file_that_was_cut_off_is_an_error(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    (tmp_path / "t").write_bytes(compress(LINES * 1000)[:-30])
    with pytest.raises(InvalidRequest, match="ended before the end-of-stream"):
        read_transcript_file(tmp_path / "t")


def write_tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        member = tarfile.TarInfo("t.jsonl")
        member.size = len(LINES)
        archive.addfile(member, io.BytesIO(LINES))
    return data.getvalue()


def write_zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("t.jsonl", LINES)
    return data.getvalue()


@pytest.mark.parametrize(("data", "command"), [(write_tar(), "`tar -xf`"), (write_zip(), "`unzip`")])
def test_an_archive_is_an_error_that_says_how_to_unpack_it(tmp_path: Path, data: bytes, command: str) -> None:
    (tmp_path / "packed").write_bytes(data)
    with pytest.raises(InvalidRequest, match=command):
        read_transcript_file(tmp_path / "packed")


def test_a_file_compressed_with_zstandard_is_read(tmp_path: Path) -> None:
    zstd = import_module(unpacking.ZSTD_MODULE)
    # A file may be several compressed parts one after another.
    (tmp_path / "t.zst").write_bytes(zstd.compress(LINES) + zstd.compress(b'{"c": 3}\n'))
    assert read_transcript_file(tmp_path / "t.zst").objects == [{"a": 1}, {"b": 2}, {"c": 3}]
    (tmp_path / "torn.zst").write_bytes(zstd.compress(LINES)[:-3])
    with pytest.raises(InvalidRequest, match=r"cannot read .*torn\.zst"):
        read_transcript_file(tmp_path / "torn.zst")
    (tmp_path / "bad.zst").write_bytes(b"\x28\xb5\x2f\xfdnonsense")
    with pytest.raises(InvalidRequest, match=r"cannot read .*bad\.zst"):
        read_transcript_file(tmp_path / "bad.zst")


def test_a_zstandard_file_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd = import_module(unpacking.ZSTD_MODULE)
    monkeypatch.setattr(unpacking, "LARGEST_VALUE", 1000)
    (tmp_path / "t.zst").write_bytes(zstd.compress(b"x" * 100_000))
    with pytest.raises(InvalidRequest, match="too large"):
        read_transcript_file(tmp_path / "t.zst")


def test_a_broken_compressed_file_is_one_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "t.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(InvalidRequest, match=r"t\.gz"):
        read_transcript_file(tmp_path / "t.gz")


def test_a_compressed_file_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LARGEST_VALUE", 1000)
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"x" * 100_000))
    with pytest.raises(InvalidRequest, match="too large"):
        read_transcript_file(tmp_path / "t.gz")


def test_a_folder_in_which_an_agent_keeps_one_store_is_a_document_of_its_files(tmp_path: Path) -> None:
    files: dict[str, dict[str, object]] = {
        "message/s-1/m-1.json": {"id": "m-1", "sessionID": "s-1", "role": "user", "time": {}},
        "session/s-1.json": {"id": "s-1", "projectID": "p", "time": {}},
    }
    for name, value in files.items():
        (tmp_path / "storage" / name).parent.mkdir(parents=True)
        (tmp_path / "storage" / name).write_text(json.dumps(value))
    (tmp_path / "storage" / "picture.png").write_bytes(b"\x89PNG")
    document = read_transcript_file(tmp_path / "storage", 1)
    assert document.run == 1
    assert [(one.name, one.value) for one in document.companions] == list(files.items())


def write_chat(path: Path, *texts: str, session: str = "", minute: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"sessionId": session or path.stem, "projectHash": "p", "startTime": "2026-11-22T01:00:00Z", "kind": "main"}
    lines = [
        {"id": f"m{number}", "timestamp": f"2026-11-22T01:{minute:02}:00Z", "type": "user", "content": [{"text": text}]}
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [head, *lines]))


def test_the_only_conversation_of_a_folder_is_read_with_what_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = tmp_path / "id" / "session-1.jsonl"
    write_chat(chat, "hello")
    (tmp_path / "id" / "workspace.yaml").write_text("title: shop\n")
    (tmp_path / "id" / "note.txt").write_text("nothing\n")
    monkeypatch.setattr(growing_files, "companions_of", {chat.as_posix(): ("workspace.yaml",)}.__getitem__)
    document = read_transcript_file(tmp_path, 3)
    assert (document.name, document.run) == (str(chat), 3)
    assert [one.name for one in document.companions] == ["workspace.yaml"]


def test_several_conversations_in_a_folder_are_listed_newest_first(tmp_path: Path) -> None:
    for number in range(12):
        write_chat(tmp_path / f"session-{number:02}.jsonl", "hello")
        os.utime(tmp_path / f"session-{number:02}.jsonl", (number, number))
    with pytest.raises(InvalidRequest) as caught:
        read_transcript_file(tmp_path)
    assert "holds 12 conversations; name one of them, newest first: session-11.jsonl (gemini-cli)" in str(caught.value)
    assert str(caught.value).endswith("session-02.jsonl (gemini-cli) and 2 more")


def test_of_many_files_in_a_folder_none_is_read_to_list_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_files, "_MOST_READ", 2)
    monkeypatch.delattr(growing_files, "read_document")
    for number in range(3):
        write_chat(tmp_path / f"session-{number}.jsonl", "hello", session="same")
    with pytest.raises(InvalidRequest, match="holds 3 conversations"):
        read_transcript_file(tmp_path)


def test_of_the_files_of_one_conversation_the_one_that_goes_furthest_is_read(tmp_path: Path) -> None:
    write_chat(tmp_path / "session-1.jsonl", "hello", "more", session="s", minute=9)
    write_chat(tmp_path / "session-2.jsonl", "hello", session="s", minute=5)
    (tmp_path / "session-3.jsonl").write_text((tmp_path / "session-2.jsonl").read_text().splitlines()[0] + "\n")
    assert read_transcript_file(tmp_path).name == str(tmp_path / "session-1.jsonl")


def test_a_folder_without_a_conversation_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no transcript"):
        read_transcript_file(tmp_path)
    for number in range(12):
        (tmp_path / f"{number:02}.json").write_text("{}")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(InvalidRequest, match=r"holds no conversation that is known; it holds 00\.json.* and 3 more"):
        read_transcript_file(tmp_path)


@pytest.mark.parametrize(("limit", "value"), [("_MOST_FILES", 2), ("_LARGEST_FOLDER", 5)])
def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(growing_files, limit, value)
    for number in range(4):
        (tmp_path / f"{number}.json").write_text("{}")
    with pytest.raises(InvalidRequest, match="own file or folder"):
        read_transcript_file(tmp_path)


def test_files_that_are_no_text_count_in_a_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_files, "_MOST_FILES", 2)
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(b"")
    with pytest.raises(InvalidRequest, match="own file or folder"):
        read_transcript_file(tmp_path)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("log", [False, True], ids=["closed", "being written"])
def test_rows_of_a_database_are_lines_and_nothing_is_written(tmp_path: Path, log: bool) -> None:
    path = tmp_path / "agent's ?data.db"
    with closing(write_database(path, log=log)) as database:
        if not log:
            database.close()
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
        document = read_transcript_file(path)
        after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    assert document.objects == [
        {"table": "message", "row": {"id": "m1", "data": "text"}},
        {"table": "message", "row": {"id": "m2", "data": {"base64": "//4="}}},
    ]
    assert before == after


@pytest.mark.usefixtures("tables")
def test_a_copied_database_with_its_log_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with closing(write_database(tmp_path / "a.db", log=True)):
        for name in ("a.db", "a.db-wal"):
            (tmp_path / "copy" / name).write_bytes((tmp_path / name).read_bytes())
    assert len(read_transcript_file(tmp_path / "copy" / "a.db").lines) == 2
    assert sorted(file.name for file in (tmp_path / "copy").iterdir()) == ["a.db", "a.db-wal"]


def test_a_broken_database_is_one_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + b"nonsense" * 100)
    with pytest.raises(InvalidRequest, match=r"cannot read the database .*a\.db"):
        read_transcript_file(tmp_path / "a.db")


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("bound", "most", "said"),
    [("LONGEST_LINE", 3, "too big"), ("LARGEST_VALUE", 7, "rows of one session"), ("LARGEST_TRANSCRIPT", 100, "GiB")],
)
@pytest.mark.parametrize("log", [False, True], ids=["closed", "copied with its log"])
def test_a_databases_texts_rows_and_size_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, said: str, *, log: bool
) -> None:
    (tmp_path / "copy").mkdir()
    with closing(write_database(tmp_path / "a.db", log=log)):
        for file in tmp_path.glob("a.db*"):
            if not file.name.endswith("-shm"):
                (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    assert len(read_transcript_file(tmp_path / "copy" / "a.db").lines) == 2
    monkeypatch.setattr(database_rows, bound, most)
    with pytest.raises(InvalidRequest, match=said):
        read_transcript_file(tmp_path / "copy" / "a.db")


def test_files_that_belong_to_a_transcript_are_read_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.jsonl").write_bytes(LINES)
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "usage.json").write_text('{"used": 3}')
    patterns = {(tmp_path / "main.jsonl").as_posix(): ("main/*.json",)}
    monkeypatch.setattr(growing_files, "companions_of", patterns.__getitem__)
    document = read_transcript_file(tmp_path / "main.jsonl")
    assert [(one.name, one.value) for one in document.companions] == [("main/usage.json", {"used": 3})]


def every_log(_: Document) -> tuple[str, ...]:
    return ("*.jsonl",)


def test_files_that_are_referred_to_are_read_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("main", "small", "large"):
        (tmp_path / f"{name}.jsonl").write_bytes(LINES * (1_000 if name == "large" else 1))
    monkeypatch.setattr(growing_files, "references_of", every_log)
    monkeypatch.setattr(growing_files, "_MOST_REFERRED", 1_000)
    document = read_transcript_file(tmp_path / "main.jsonl")
    assert [one.name for one in document.companions] == ["main.jsonl", "small.jsonl"]


def test_no_agent_claims_files_beside_every_transcript() -> None:
    assert [agent.name for agent in AGENTS if agent.companions("/home/dev/notes.jsonl")] == []


# Whatever a file holds, a bounded part of it is in memory, and what is whole in it is read


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
