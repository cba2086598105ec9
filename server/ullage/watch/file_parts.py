"""Reads the first and the last records of a file, only as many as a list needs. A long file is not read whole."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.model.json_values import JsonObject, as_objects, decode_json
from ullage.watch.unpacking import PACKED, opened

# Bytes of a file's beginning that are read, one after the other. The first prompt may follow long instructions; a first
# record that holds the agent's own prompt and tools has about 100 KB.
_HEADS = (16 << 10, 128 << 10, 1 << 20)
# Bytes of a file's end, where the newest title and model are.
_TAIL = 16 << 10
# Bytes of a file that is one JSON value, which can only be read whole.
_WHOLE = 4 << 20


class Opening(Struct, frozen=True, kw_only=True):
    """The beginning of a file. `end` is the number of bytes that were read.

    `records` are the JSON objects on its lines. For a file that is one JSON value, they are that object, or the objects
    in that list. For a file that is neither, there is one record, `{"file": name, "text": text}`.
    """

    records: tuple[JsonObject, ...]
    end: int


def read_openings(path: Path, size: int) -> Iterator[Opening]:
    """Yields longer and longer beginnings of a file of `size` bytes: 16 KiB, then 128 KiB, and 1 MiB if these contain
    no whole record. Yields at least one. Of a compressed file the content is read. Raises `OSError`, and
    `InvalidRequest` if it can't be unpacked."""
    records: tuple[JsonObject, ...] = ()
    data, is_whole = b"", False
    with opened(path) as file:
        for head in _HEADS:
            if is_whole or (records and head == _HEADS[-1]):
                break
            data += file.read(head - len(data))
            is_whole = len(data) < head or (len(data) == size and path.suffix not in PACKED)
            lines = data.split(b"\n")
            # The last line may continue after what was read.
            records = tuple(_objects(lines if is_whole else lines[:-1]))
            if records:
                # The end of a compressed file can't be read by itself.
                yield Opening(records=records, end=size if path.suffix in PACKED else len(data))
    if not records:
        yield Opening(records=read_small(path) if size <= _WHOLE else (), end=size)


def read_ending(path: Path, size: int, opening: Opening) -> tuple[JsonObject, ...]:
    """Returns the records in the last 16 KiB of a file of `size` bytes, without those in its opening. Raises
    `OSError`."""
    start = max(opening.end, size - _TAIL)
    if start >= size:
        return ()
    with path.open("rb") as file:
        file.seek(start)
        # The first line may have begun before.
        lines = file.read(size - start).split(b"\n")[1:]
    return tuple(_objects(lines))


def read_small(path: Path) -> tuple[JsonObject, ...]:
    """Returns the records of a whole file (see `Opening`), or an empty tuple if it has more than 4 MiB. Raises
    `OSError`."""
    with path.open("rb") as file:
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
