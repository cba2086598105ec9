"""Reads the first and the last records of a file, only as many as a list needs. A long file is not read whole."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ullage.formats.parsing import Line, parse_lines
from ullage.limits import open_plain
from ullage.model.json_values import JsonObject, as_objects, decode_json
from ullage.watch.unpacking import PACKED, opened

# Bytes of a file's beginning that are read, one after the other. The first prompt may follow long instructions; a first
# record that holds the agent's own prompt and tools has about 100 KB.
_HEADS = (16 << 10, 128 << 10, 1 << 20)
# Bytes of a file that is one JSON value, which can only be read whole.
_WHOLE = 4 << 20
# Bytes of either end of a file of records that are read for its figure, one after the other. Mostly the last answer is
# within the fewest; long results of tools may follow it, and long instructions may come before the first prompt.
_BEGINS = (4 << 10, 16 << 10, 128 << 10)
_ENDS = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
# Bytes of either end in which a conversation may be named, and the names of one of which each such record has.
_NAMED, _NAMES = 16 << 10, (b'itle":', b'"summary":')
# With these begin comments before the first record.
_COMMENT = (b"//", b"#")
# Of these words one is in each record that an agent writes of the tokens of a request.
_USAGES = (b"usage", b"oken", b"Usage")


class Ends(Struct, frozen=True, kw_only=True):
    """The first and the last records of a file of records. `is_whole` says that there are no others between them. The
    last ones have one number."""

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


def read_ends(path: Path, size: int, has_begun: Callable[[Sequence[Line]], bool]) -> Iterator[Ends]:
    """Yields the first records of a file of `size` bytes, until `has_begun` says that they are enough, with more and
    more of its last ones. Comments before them are left out. Yields nothing for a file that is compressed or does not
    begin with a record. Raises `OSError`."""
    if path.suffix in PACKED:
        return
    with open_plain(path) as file:
        first, end = _read_begin(file, size, has_begun)
        if not first:
            return
        for most in _ENDS:
            start = max(end, size - most)
            file.seek(start)
            data = file.read(size - start)
            # The first line may have begun before.
            whole = data if start == end else data.partition(b"\n")[2]
            if start > end and not any(word in whole for word in _USAGES):
                continue
            last = [line for raw in whole.split(b"\n") for line in _lines(raw, len(first) + 1)]
            # Between the line that says which conversation it is and the first prompt, nothing is needed.
            begun = first if start == end else (first[0], *first[1:][-1:])
            yield Ends(first=begun, last=tuple(last), is_whole=start == end)
            if start == end:
                return


def _read_begin(file: BinaryIO, size: int, has_begun: Callable[[Sequence[Line]], bool]) -> tuple[tuple[Line, ...], int]:
    """Returns the first lines of a file, and the number of their bytes."""
    first: list[Line] = []
    end = 0
    for most in _BEGINS:
        file.seek(end)
        data = file.read(most - end)
        for raw in data.split(b"\n")[: None if end + len(data) >= size else -1]:
            end = min(size, end + len(raw) + 1)
            first += _lines(raw, len(first) + 1)
            if first and first[0].value is None:
                if not raw.startswith(_COMMENT):
                    return (), 0
                first.clear()
            elif has_begun(first):
                return tuple(first), end
        if end >= size:
            break
    return tuple(first), end


def has_any(path: Path, marks: Sequence[bytes]) -> bool:
    """Returns whether any of these texts is in a file. Raises `OSError`."""
    with open_plain(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return any(data.find(mark) >= 0 for mark in marks)


def last_with(path: Path, text: bytes) -> Line | None:
    """Returns the last record of a file that has this text in it, or None. Raises `OSError`."""
    with open_plain(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        place = data.rfind(text)
        begin, end = data.rfind(b"\n", 0, max(place, 0)) + 1, data.find(b"\n", place)
        lines = _lines(data[begin : end if end >= 0 else None], 2) if place >= 0 else ()
    return next((line for line in lines if line.value is not None), None)


def read_named(path: Path, size: int) -> tuple[JsonObject, ...]:
    """Returns those records in the first and the last 16 KiB of a file of `size` bytes that may name its conversation.
    Raises `OSError`."""
    with open_plain(path) as file:
        data = file.read(_NAMED)
        if size > len(data):
            file.seek(max(len(data), size - _NAMED))
            data += file.read(_NAMED)
    starts: set[int] = set()
    for name in _NAMES:
        place = data.find(name)
        while place >= 0:
            starts.add(data.rfind(b"\n", 0, place) + 1)
            # The rest of a line says nothing more.
            end = data.find(b"\n", place)
            place = data.find(name, end) if end >= 0 else -1
    return tuple(_objects(data[start:].partition(b"\n")[0] for start in sorted(starts)))


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
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        found = tuple(_objects(data.split(b"\n")))
        return found or ({"file": path.name, "text": data.decode("utf-8", "replace")},)
    return tuple(as_objects(value)) if isinstance(value, list) else tuple(as_objects([value]))


def _objects(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yields the JSON objects on these lines. Other lines, such as one that is not completely written, are skipped."""
    for line in lines:
        if line.lstrip().startswith(b"{"):
            try:
                yield decode_json(line, dict)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
