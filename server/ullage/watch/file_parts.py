"""Reads the first and the last records of a file, only as many as a list needs. A long file is not read whole."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ullage.agents.agent import is_lone_command
from ullage.bounds import open_plain
from ullage.formats.parsing import Line, parse_document, parse_json, parse_lines
from ullage.model.json_values import JsonObject, as_objects
from ullage.watch.unpacking import PACKED, opened

# Bytes of a file's beginning that are read, one after the other. The first prompt may follow long instructions; a first
# record that holds the agent's own prompt and tools has about 100 KB.
_HEADS = (16 << 10, 128 << 10, 1 << 20)
# Bytes of a file that is one JSON value, which can only be read whole.
_WHOLE = 4 << 20
# Bytes of the beginning of a file of records, and those of its end, one after the other, that are read for its figure.
# Mostly the last answer is within the fewest. Long results of tools may follow it, and the first prompt may come after
# long instructions. A picture that a tool returned is one record of some megabytes.
_BEGIN = 128 << 10
_ENDS = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20)
# Bytes in which a text is searched at once, and those before and after it in which its record is.
_STEP, _AROUND = 256 << 10, 1 << 20
# Bytes of either end in which a conversation may be named, and the names of one of which each such record has.
_NAMED, _NAMES = 16 << 10, (b'itle":', b'"summary":')
# One of these is in a record of what a user typed.
_TYPED = (b'"user"', b'"user.')
# With these begin comments before the first record.
_COMMENT = (b"//", b"#")
# Of these words one is in each record that an agent writes of the tokens of a request.
_USAGES = (b"usage", b"oken", b"Usage")


class Part(Struct, frozen=True, kw_only=True):
    """The first and the last records of a file of records. `is_whole` says that there are no others between them; else
    those that the file begins with are its first one and the one that says what the conversation is."""

    first: tuple[Line, ...]
    last: tuple[Line, ...]
    is_whole: bool


def read_first(path: Path, size: int) -> tuple[JsonObject, ...]:
    """Returns the first records of a file of `size` bytes: those in its first 16 KiB or, if these have no whole one, in
    more. Of a compressed file the content is read. A file without records on its lines is read whole, see `read_small`.
    Raises `OSError`, and `InvalidRequest` if it can't be unpacked."""
    data = b""
    with opened(path) as file:
        for head in _HEADS:
            data += file.read(head - len(data))
            is_whole = len(data) < head or (len(data) == size and path.suffix not in PACKED)
            lines = data.split(b"\n")
            # The last line may continue after what was read.
            if records := tuple(_objects(lines if is_whole else lines[:-1])):
                return records
            if is_whole:
                break
    return read_small(path) if size <= _WHOLE else ()


@contextmanager
def file_ends(path: str, size: int, title_in: Callable[[Line], str]) -> Generator["FileEnds | None"]:
    """Opens a file of `size` bytes for reading its ends; None if it is compressed, does not begin with a record, or has
    no other one: it may be one JSON value. `title_in` returns the title that a record of its beginning gives the
    conversation, or "". Raises `OSError`."""
    if path.endswith(tuple(PACKED)):
        yield None
        return
    with open_plain(path) as file:
        ends = FileEnds(file, size, title_in)
        is_long = size > _ENDS[-1] or bool(ends.first[1:])
        yield ends if ends.first and (is_long or next(ends.last(), None)) else None


class FileEnds:
    """Both ends of an open file of records. Of either more is read when it is asked for, up to a bound.

    `first` are the first record and the first with a title, as far as the beginning has them, and `title` is that;
    comments before them are left out.
    """

    def __init__(self, file: BinaryIO, size: int, title_in: Callable[[Line], str]) -> None:
        self._file, self._size = file, size
        self._head = self._read(0, _NAMED)
        self._tail_at = max(0, size - _NAMED)
        self._tail = self._read(self._tail_at, _NAMED) if self._tail_at else self._head
        # Where the records begin, and where those of `first` end.
        self._begin = self._end = 0
        self.title = ""
        self.first = self._read_first(title_in)

    def _read(self, at: int, most: int) -> bytes:
        self._file.seek(at)
        return self._file.read(most)

    def _read_first(self, title_in: Callable[[Line], str]) -> tuple[Line, ...]:
        first: list[Line] = []
        found: tuple[Line, ...] = ()
        end = 0
        # Most agents name the role of who typed the first prompt. All records are parsed only where none is named so.
        for roles in (_TYPED, (b"",)):
            first, self._begin, self._end = [], 0, 0
            for raw in self._first_lines():
                lines = _lines(raw, len(first) + 1) if not first or any(role in raw for role in roles) else ()
                if not first and lines and lines[0].value is None:
                    if not raw.startswith(_COMMENT):
                        return ()
                    self._begin = self._end
                elif lines:
                    first = [*first[:1], lines[0]]
                    title = title_in(lines[0])
                    if title and not is_lone_command(title):
                        self.title = title
                        return tuple(first)
                    if title and not found:
                        self.title, found, end = title, tuple(first), self._end
            if found:
                self._end = end
                return found
        return tuple(first)

    def _first_lines(self) -> Iterator[bytes]:
        """Yields the lines that the file begins with; `_end` is then where the line ends."""
        while True:
            end = self._head.find(b"\n", self._end)
            if end < 0 and len(self._head) < min(self._size, _BEGIN):
                self._head += self._read(len(self._head), _BEGIN - len(self._head)) or b"\n"
                continue
            at, self._end = self._end, end + 1 if end >= 0 else self._end
            if end >= 0:
                yield self._head[at:end]
                continue
            if len(self._head) >= self._size > at:
                self._end = self._size
                yield self._head[at:]
            return

    def begun(self) -> tuple[Line, ...]:
        """Returns the whole records of the first 128 KiB."""
        self._head += self._read(len(self._head), max(0, _BEGIN - len(self._head)))
        return _numbered(self._head.rpartition(b"\n")[0].split(b"\n"), 1)

    def last(self) -> Iterator[bytes]:
        """Yields the lines after `first` that are not blank, the last one first, as far as the end of the file is
        read."""
        end = self._size
        while end > self._end:
            at = self._tail.rfind(b"\n", 0, end - self._tail_at) + 1 + self._tail_at
            if at == self._tail_at and at > self._end:
                if not self._read_more(4 * len(self._tail)):
                    return
                continue
            line = self._tail[max(at, self._end) - self._tail_at : end - self._tail_at]
            end = at - 1
            if line.strip():
                yield line

    def _read_more(self, most: int) -> bool:
        """Reads so many bytes of the end of the file, if they are not read yet. Returns whether it has read more."""
        at = max(0, self._size - min(most, _ENDS[-1]))
        more = self._read(at, self._tail_at - at) if at < self._tail_at else b""
        self._tail, self._tail_at = more + self._tail, self._tail_at - len(more)
        return bool(more)

    def parts(self) -> Iterator[Part]:
        """Yields `first` with more and more of the last records."""
        for most in _ENDS:
            self._read_more(most)
            start = max(self._end, self._size - most)
            data = self._tail[start - self._tail_at :]
            if start == self._end:
                begun = self._head[self._begin : self._end].removesuffix(b"\n")
                first = _numbered(begun.split(b"\n"), 1)
                yield Part(first=first, last=_numbered(data.split(b"\n"), len(first) + 1), is_whole=True)
                return
            # The first line may have begun before.
            data = data.partition(b"\n")[2]
            if any(word in data for word in _USAGES):
                yield Part(first=self.first, last=_numbered(data.split(b"\n"), len(self.first) + 1), is_whole=False)

    def last_with(self, text: bytes) -> Line | None:
        at, after = self._size, b""
        while at > 0:
            step = min(at, _STEP)
            at -= step
            # A text may begin in one step and end in the next.
            data = self._read(at, step) + after
            after = data[: len(text) - 1]
            if (place := data.rfind(text)) >= 0:
                return self._record_at(at + place)
        return None

    def _record_at(self, place: int) -> Line | None:
        """Returns the record that has this byte of the file, or None if it has none in 1 MiB around it."""
        at = max(0, place - _AROUND)
        data = self._read(at, 2 * _AROUND)
        end = data.find(b"\n", place - at)
        line = data[data.rfind(b"\n", 0, place - at) + 1 : end if end >= 0 else None]
        return next((one for one in _lines(line, len(self.first) + 1) if one.value is not None), None)

    def named(self) -> tuple[JsonObject, ...]:
        """Returns those records in the first and the last 16 KiB that may name the conversation."""
        data = self._head[:_NAMED]
        if self._size > len(data):
            data += self._tail[-min(_NAMED, self._size - len(data)) :]
        starts: set[int] = set()
        for name in _NAMES:
            place = data.find(name)
            while place >= 0:
                starts.add(data.rfind(b"\n", 0, place) + 1)
                # The rest of a line says nothing more.
                end = data.find(b"\n", place)
                place = data.find(name, end) if end >= 0 else -1
        return tuple(_objects(data[start:].partition(b"\n")[0] for start in sorted(starts)))


def _numbered(raw: Iterable[bytes], number: int) -> tuple[Line, ...]:
    return tuple(line for one in raw if one for line in _lines(one, number))


def has_all(path: Path | str, groups: Iterable[Sequence[bytes]]) -> bool:
    """Returns whether a file has a text of each of these groups. Raises `OSError`."""
    with open_plain(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return all(any(data.find(text) >= 0 for text in texts) for texts in groups)


def _lines(raw: bytes, number: int) -> Sequence[Line]:
    """Parses one line, in half of the time that any line takes if it is a usual one."""
    try:
        return (Line(number=number, value=msgspec.json.decode(raw, type=dict[str, Any])),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_lines(raw, number, is_text=False)


def read_small(path: Path) -> tuple[JsonObject, ...]:
    """Returns the records of a whole file, or an empty tuple if it has more than 4 MiB: the JSON objects on its lines.
    Of a file that is one JSON value, they are that object, or the objects in that list. Of one that is neither, there
    is one record, `{"file": name, "text": text}`. Raises `OSError`."""
    with open_plain(path) as file:
        data = file.read(_WHOLE + 1)
    if len(data) > _WHOLE:
        return ()
    document = parse_document(data, path.name)
    if document.problem:
        found = tuple(_objects(data.split(b"\n")))
        return found or ({"file": path.name, "text": data.decode("utf-8", "replace")},)
    value: Any = document.value
    return tuple(as_objects(value if isinstance(value, list) else [value]))


def _objects(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yields the JSON objects on these lines. Other lines, such as one that is not completely written, are skipped."""
    for line in lines:
        if line.lstrip().startswith(b"{"):
            yield from as_objects([parse_json(line)[0]])
