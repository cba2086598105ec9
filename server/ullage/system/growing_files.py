"""Reads what has been added to a file since it was last read, and notices when it is no longer the same file.

Whether a file has only grown is judged by its length, by its first bytes and by the last bytes that were read. An agent
may shorten a file, write it again, or replace it by another one of the same name, and an inode may be given to another
file; so neither name nor inode shows that what was read is still there.
"""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from ullage.bounds import LARGEST_VALUE, LONGEST_LINE, MOST_PASSED, open_plain
from ullage.formats.parsing import BLANK, Document, parse_json, parse_lines
from ullage.model.errors import InvalidRequest
from ullage.service.ports.agent_files import Appended, Growth, LastRows, Mark, Missing, Pieces, Replaced, RowsKnown
from ullage.system.transcript_files import (
    is_database,
    is_read_in_pieces,
    parse_transcript,
    read_database_on,
    read_transcript_file,
    with_companions,
)
from ullage.watch.unpacking import TOO_LONG

# Bytes at either end of what was read that are compared. Most records have their id and time within as many. A file
# that is written again with the same bytes at both places, and other ones between, is taken for the same.
_COMPARED = 4_096
# Bytes of a file of records that are read at once, so that a large file takes no more memory than a small one, and the
# files that are followed with it do not wait for it. A piece ends with a whole line, so it may be longer.
_PIECE = 1 << 20
# Bytes that are read of it at first, if its figures are wanted soon. Most prompts and their first answers have fewer.
_FIRST = 32 << 10
# Bytes of a file's beginning that show whether it is compressed or an archive.
_MAGIC = 512
# Bytes of a large file's first line, in which an agent may say which conversation it is. Codex also writes its
# instructions there.
_HEAD = 64 << 10
# SQLite writes changes to this file first. The database itself may stay as it is for hours.
_WRITE_AHEAD = "-wal"
# How the name of a file ends that is no database, which most are that are followed.
_RECORDS = ".jsonl"

# Bytes of a line that is too long that are passed over at once, before other files have their turn.
_PASSED = 256 << 20


class _Piece(Struct, frozen=True, kw_only=True):
    """What was read of a file at once. `more` says that there is more. `passed` is how many bytes more than `data` the
    piece has in the file, because lines were passed over, and `last` the last bytes of the piece if they were."""

    data: bytes
    more: bool = False
    passed: int = 0
    last: bytes = b""


class GrowingFiles:
    """The files of this machine. `piece` is the number of bytes that are read of a file of records at once."""

    def __init__(self, piece: int = _PIECE) -> None:
        self._piece = piece

    def has_changed(self, path: Path, mark: Mark | None) -> bool:
        """Returns whether a file has changed since `mark`, or is no longer there."""
        try:
            return mark is None or _stat(path) != mark.stat
        except OSError:
            return True

    def stat(self, path: Path) -> tuple[int, ...]:
        """Returns what the operating system says of a file, as `TranscriptFiles.stat` describes."""
        try:
            return _stat(path)
        except OSError:
            return ()

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        """Returns what has happened to a file since `mark`, as `TranscriptFiles.read_on` describes."""
        try:
            # Before the file is read: what is written meanwhile makes another stat, and is read by the next call.
            stat = _stat(path)
            if mark and stat == mark.stat:
                return None
            appended = _appended(path, mark, stat, self._piece) if mark and mark.offset >= 0 else None
            rows = mark.rows if mark else None
            return appended or _anew(path, stat, origin_id, self._size_of(pieces), rows)
        except FileNotFoundError:
            return Missing()
        except OSError as error:
            raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error

    def _size_of(self, pieces: Pieces) -> int | None:
        if pieces is Pieces.NONE:
            return None
        return self._piece if pieces is Pieces.LARGE else min(self._piece, _FIRST)

    def size(self, path: Path) -> int:
        try:
            return path.stat().st_size
        except OSError:
            return 0

    def ends(self, path: Path) -> bytes:
        """Returns a digest of a file's first and last bytes, as `TranscriptFiles.ends` describes."""
        try:
            with open_plain(path) as file:
                first = file.read(_COMPARED)
                file.seek(max(0, file.seek(0, os.SEEK_END) - _COMPARED))
                return sha256(first + file.read(_COMPARED)).digest()
        except OSError:
            return b""

    def digest(self, path: Path, size: int) -> bytes:
        """Returns a digest of a file's first bytes, as `TranscriptFiles.digest` describes."""
        found = sha256()
        try:
            with open_plain(path) as file:
                while size and (data := file.read(min(size, self._piece))):
                    found.update(data)
                    size -= len(data)
        except OSError:
            return b""
        return b"" if size else found.digest()

    def quiet_for(self, path: Path) -> float:
        """Returns the seconds since a file was last written, as `TranscriptFiles.quiet_for` describes."""
        try:
            # Of a database, the newer of two times; the size of its write-ahead log is among these numbers.
            written = max(_stat(path)[2:])
        except OSError:
            return 0.0
        return max(0.0, time.time() - written / 1e9)

    def read_ends(self, path: Path, most: int) -> Document | None:
        """Returns the first record and the last ones of a file, as `TranscriptFiles.read_ends` describes."""
        try:
            with open_plain(path) as file:
                first = file.readline(_HEAD)
                if file.seek(0, os.SEEK_END) <= most + len(first) or not _is_of_records(first + b"\n{}"):
                    return None
                file.seek(-most, os.SEEK_END)
                # The first of these lines has begun before.
                _, _, tail = file.read(most).partition(b"\n")
        except OSError:
            return None
        return Document(name=str(path), lines=(*parse_lines(first), *parse_lines(_whole_lines(tail), 2, is_text=False)))


def _stat(path: Path) -> tuple[int, ...]:
    # The functions of `os` take a third of the time of `Path`, and hundreds of files are looked at every second.
    name = str(path)
    own = os.stat(name)  # noqa: PTH116
    if name.endswith(_RECORDS):
        return own.st_size, own.st_ino, own.st_mtime_ns
    try:
        ahead = os.stat(name + _WRITE_AHEAD)  # noqa: PTH116
    except OSError:
        return own.st_size, own.st_ino, own.st_mtime_ns
    return own.st_size, own.st_ino, own.st_mtime_ns, ahead.st_size, ahead.st_mtime_ns


def _appended(path: Path, mark: Mark, stat: tuple[int, ...], piece: int) -> Appended | None:
    """Returns the whole lines after the mark, or None if the file has not only grown."""
    with open_plain(path) as file:
        if file.read(len(mark.head)) != mark.head:
            return None
        file.seek(mark.offset - len(mark.last))
        if file.read(len(mark.last)) != mark.last:
            return None
        read = _read_piece(file, piece)
    data = read.data if read.more or read.last else _whole_lines(read.data)
    lines = parse_lines(data, mark.lines + 1, is_text=mark.is_text)
    return Appended(lines=lines, mark=_moved(mark, data, () if read.more else stat, read), more=read.more)


def _anew(
    path: Path, stat: tuple[int, ...], origin_id: str, size: int | None, rows: RowsKnown | None
) -> Replaced | LastRows:
    """Returns a file from its beginning: the whole, or the first piece, of about `size` bytes; of a database only the
    last messages, if no others have changed since its rows were `rows`."""
    if path.is_dir():
        return Replaced(document=read_transcript_file(path), mark=Mark(stat=stat))
    if is_database(path):
        document, known, is_part = read_database_on(path, origin_id, rows)
        whole = with_companions(path, document)
        mark = Mark(stat=stat, rows=None if whole.companions else known)
        return LastRows(document=document, mark=mark) if is_part else Replaced(document=whole, mark=mark)
    with open_plain(path) as file:
        if not is_read_in_pieces(file.read(_MAGIC)):
            return Replaced(document=read_transcript_file(path), mark=Mark(stat=stat))
        file.seek(0)
        head = file.read(_COMPARED)
        file.seek(0)
        piece = _read_piece(file, size) if size else _read_all(file, path)
        head = head if piece.passed else b""
        data, more = piece.data, piece.more
        if more and not piece.passed and data.count(b"\n") == 1:
            # A single line does not show what the others are.
            line = file.readline(LONGEST_LINE)
            is_too_long = len(line) == LONGEST_LINE
            data, more = data if is_too_long else data + line, is_too_long or line.endswith(b"\n")
        if more and not piece.passed and not _is_of_records(data):
            data, more = data + file.read(LARGEST_VALUE), False
            if len(data) > LARGEST_VALUE:
                raise _too_large(path)
    if _is_one_value(data):
        document = with_companions(path, parse_transcript(data, str(path)))
        return Replaced(document=document, mark=Mark(stat=stat))
    data = data if more or piece.last else _whole_lines(data)
    document = with_companions(path, parse_transcript(data, str(path)))
    is_text = bool(document.lines) and document.lines[0].value is None
    mark = _moved(Mark(offset=0, head=head, is_text=is_text), data, () if more else stat, piece)
    return Replaced(document=document, mark=mark, more=more)


def _read_piece(file: BinaryIO, size: int) -> _Piece:
    """Reads on to the end of the file, or `size` bytes and the rest of a line.

    A line that is too long is passed over, as far as it is there: what is written to it later is read as a line of its
    own, which is no record.
    """
    data = file.read(size)
    if len(data) < size:
        return _Piece(data=data)
    line = file.readline(LONGEST_LINE)
    if len(line) < LONGEST_LINE or line.endswith(b"\n"):
        data += line
        return _Piece(data=data, more=data.endswith(b"\n"))
    whole = data[: data.rfind(b"\n") + 1]
    passed, last = len(data) - len(whole) + len(line), line[-_COMPARED:]
    while passed < _PASSED and not last.endswith(b"\n") and (line := file.readline(_PIECE)):
        passed, last = passed + len(line), (last + line)[-_COMPARED:]
    if last.endswith(b"\n"):
        told = TOO_LONG + b"\n" if whole else b"\n"
        whole, passed = whole + told, passed - len(told)
    return _Piece(data=whole, more=file.tell() < os.fstat(file.fileno()).st_size, passed=passed, last=last)


def _read_all(file: BinaryIO, path: Path) -> _Piece:
    """Reads a file to its end. Raises `InvalidRequest` if it is too large."""
    pieces = [_read_piece(file, _PIECE)]
    size, passed = len(pieces[0].data), pieces[0].passed
    while pieces[-1].more:
        pieces.append(_read_piece(file, _PIECE))
        size, passed = size + len(pieces[-1].data), passed + pieces[-1].passed
        if size > LARGEST_VALUE or passed > MOST_PASSED:
            raise _too_large(path)
    return _Piece(data=b"".join(piece.data for piece in pieces), passed=passed, last=pieces[-1].last)


def _too_large(path: Path) -> InvalidRequest:
    return InvalidRequest(f"cannot read {path}: it is too large for a transcript")


def _is_one_value(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is one JSON value on several lines, or the beginning of one. Its
    last line is no record, and what is added to such a file is in its middle."""
    first, _, rest = data.strip().partition(b"\n")
    return first.startswith((b"{", b"[")) and bool(rest) and bool(parse_json(first)[1])


def _is_of_records(data: bytes) -> bool:
    """Returns whether a file that begins with `data` has an object on each line, and is not one object."""
    first, _, rest = data.lstrip(BLANK).partition(b"\n")
    return first.startswith(b"{") and not parse_json(first)[1] and bool(rest.strip())


def _whole_lines(data: bytes) -> bytes:
    """Returns the data without a last line that isn't written to its end. Half of a JSON object is not JSON, so a last
    line that can be parsed is whole even if its line end is missing."""
    end = data.rfind(b"\n") + 1
    rest = data[end:]
    return data if not rest.strip() or not parse_json(rest)[1] else data[:end]


def _moved(mark: Mark, data: bytes, stat: tuple[int, ...], piece: _Piece) -> Mark:
    """Returns the mark after `data`, the whole lines of the piece that follows it."""
    return Mark(
        offset=mark.offset + len(data) + piece.passed,
        lines=mark.lines + data.count(b"\n"),
        # What replaces a line that was passed over is not in the file.
        head=mark.head if piece.passed else (mark.head + data[:_COMPARED])[:_COMPARED],
        last=piece.last or (mark.last + data[-_COMPARED:])[-_COMPARED:],
        stat=stat,
        is_text=mark.is_text,
    )
