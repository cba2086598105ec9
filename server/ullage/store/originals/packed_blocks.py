"""What the archive keeps of files: pieces that occur again in other files, in compressed blocks.

A fork repeats the lines of its parent. Claude Code writes the id of the fork into each of them, and after `/branch`
also where the line comes from (`forkedFrom`). So both are taken out of a line before it is compared; what is left is
the line's core. Files without line ends, and records that repeat a whole conversation, are divided between the objects
of a list.

A block is compressed when it is full or when its file is quiet. LZMA's fastest preset makes the shared transcripts 25 %
smaller than zlib does, at two thirds of its speed (`scripts/bench archive`).
"""

import lzma
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct

# Bytes of a line from which it is divided between objects, and bytes of each part at least.
_LONG, _PART = 32 << 10, 2 << 10
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
# Stands for the session id. JSON has no such byte.
_ID = b"\0"
_FORKED = re.compile(rb',"forkedFrom":\{"sessionId":"([^"]+)","messageUuid":"([^"]+)"\}\}(\r?\n)$')
_PARENT = re.compile(rb'"forkedFrom":\{"sessionId":"([^"]+)"')
_UUID = re.compile(rb'"uuid":"([^"]+)"')


class Shape(IntEnum):
    """How a core becomes the piece again. PLAIN: the session id is put back. FORKED: and so is where each line
    comes from. AS_IS: the core is the piece."""

    PLAIN = 0
    FORKED = 1
    AS_IS = 2


class Template(Struct, frozen=True, kw_only=True):
    """What is taken out of a file's lines. `session` is the id of the file's conversation, `parent` that of the one
    from which it was forked; b"" if unknown."""

    session: bytes = b""
    parent: bytes = b""

    def core_of(self, piece: bytes) -> tuple[bytes, Shape]:
        """Returns the core of a piece, and how the piece is made from it."""
        if _ID in piece:
            return piece, Shape.AS_IS
        if self.parent and (forked := _FORKED.search(piece)) and forked[1] == self.parent:
            core = self._without_id(piece[: forked.start()] + b"}" + forked[3])
            if self.restore(core, Shape.FORKED) == piece:
                return core, Shape.FORKED
        return self._without_id(piece), Shape.PLAIN

    def restore(self, cores: bytes, shape: Shape) -> bytes:
        """Returns the pieces that have these cores, one after the other. All have the same shape."""
        match shape:
            case Shape.AS_IS:
                return cores
            case Shape.PLAIN:
                return cores.replace(_ID, self.session) if self.session else cores
            case Shape.FORKED:
                lines = cores.replace(_ID, self.session).splitlines(keepends=True)
                return b"".join(map(self._forked, lines))

    def _without_id(self, piece: bytes) -> bytes:
        return piece.replace(self.session, _ID) if self.session else piece

    def _forked(self, line: bytes) -> bytes:
        body = line.rstrip(b"\r\n")
        uuid = _UUID.search(body)
        origin = b',"forkedFrom":{"sessionId":"%b","messageUuid":"%b"}}' % (self.parent, uuid[1] if uuid else b"")
        return body[:-1] + origin + line[len(body) :]


def find_parent(data: bytes) -> bytes:
    """Returns the id of the conversation that these lines were forked from, or b""."""
    found = _PARENT.search(data)
    return found[1] if found else b""


def divide(data: bytes) -> Iterator[bytes]:
    """Yields the pieces of a file's bytes: its lines, and parts of long ones. Joined, they are `data`."""
    for line in data.splitlines(keepends=True):
        if len(line) < _LONG:
            yield line
        else:
            yield from _parts(line)


def _parts(line: bytes) -> Iterator[bytes]:
    start = 0
    for between in _BETWEEN.finditer(line):
        if between.end() - start >= _PART:
            yield line[start : between.end()]
            start = between.end()
    if start < len(line):
        yield line[start:]


# Bytes in a block before it is compressed. Smaller ones compress worse; larger ones take longer to read a piece from.
FULL = 1 << 20
# A compressed block of fewer bytes is opened again when its file continues to grow.
SMALL = 256 << 10
# Blocks that are kept unpacked: a fork's pieces are in few blocks of its parent.
_UNPACKED = 8
_STORED, _LZMA = 0, 1
_FILTERS = [{"id": lzma.FILTER_LZMA1, "preset": 1, "pb": 0}]


class Blocks:
    """The blocks of an archive. Every method but `content` needs a write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unpacked: OrderedDict[int, bytes] = OrderedDict()

    def content(self, block_id: int) -> bytes:
        """Returns the bytes of a block."""
        known = self._unpacked.get(block_id)
        if known is not None:
            self._unpacked.move_to_end(block_id)
            return known
        found = self._connection.execute("SELECT codec, data FROM blocks WHERE block_id = ?", (block_id,)).fetchone()
        codec, data = found or (_STORED, b"")
        if data is None:
            return self._loose(block_id)
        content = _unpack(data, codec)
        self._unpacked[block_id] = content
        if len(self._unpacked) > _UNPACKED:
            self._unpacked.popitem(last=False)
        return content

    def new(self, original_id: int) -> int:
        """Makes an empty block. Returns its id."""
        made = self._connection.execute("INSERT INTO blocks (original_id) VALUES (?)", (original_id,)).lastrowid
        return made or 0

    def reopen(self, block_id: int | None) -> tuple[int, int] | None:
        """Returns the id and size of a block to add to, unpacked if it was small; None if missing or full."""
        row = self._connection.execute(
            "SELECT size, data IS NULL FROM blocks WHERE block_id = ?", (block_id,)
        ).fetchone()
        if block_id is None or row is None:
            return None
        size, is_open = row
        if is_open:
            return (block_id, size) if size < FULL else None
        if size >= SMALL:
            return None
        self.add(block_id, self.content(block_id), 0)
        self._connection.execute("UPDATE blocks SET data = NULL, codec = 0 WHERE block_id = ?", (block_id,))
        self._unpacked.pop(block_id, None)
        return block_id, size

    def add(self, block_id: int, data: bytes, size: int) -> None:
        """Adds bytes to a block that is not compressed and has `size` bytes."""
        self._connection.execute("INSERT INTO loose (block_id, data) VALUES (?, ?)", (block_id, data))
        self._connection.execute("UPDATE blocks SET size = ? WHERE block_id = ?", (size + len(data), block_id))

    def pack(self, block_id: int, more: bytes = b"") -> None:
        """Compresses a block that is not compressed yet, with `more` at its end."""
        content = self._loose(block_id) + more
        codec, data = _pack(content)
        self._connection.execute(
            "UPDATE blocks SET size = ?, codec = ?, data = ? WHERE block_id = ?", (len(content), codec, data, block_id)
        )
        self._connection.execute("DELETE FROM loose WHERE block_id = ?", (block_id,))

    def keep_only(self, block_id: int, used: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Overwrites all of a block but the used parts, each with its start and its length, in the order of their
        starts. Returns the overwritten parts, each with its start and its end."""
        content = bytearray(self.content(block_id))
        gaps: list[tuple[int, int]] = []
        end = 0
        for start, length in [*used, (len(content), 0)]:
            if start > end:
                gaps.append((end, start))
            end = max(end, start + length)
        if any(any(content[start:stop]) for start, stop in gaps):
            for start, stop in gaps:
                content[start:stop] = bytes(stop - start)
            codec, data = _pack(bytes(content))
            self._connection.execute(
                "UPDATE blocks SET size = ?, codec = ?, data = ? WHERE block_id = ?",
                (len(content), codec, data, block_id),
            )
            self._connection.execute("DELETE FROM loose WHERE block_id = ?", (block_id,))
            self._unpacked.pop(block_id, None)
        return gaps

    def open_ones(self, path: str) -> list[int]:
        """Returns the ids of the blocks of one file, or of all if `path` is "", that are not compressed yet."""
        query = (
            "SELECT blocks.block_id FROM blocks JOIN originals USING (original_id) "
            "WHERE data IS NULL AND ? IN (path, '')"
        )
        return [row[0] for row in self._connection.execute(query, (path,))]

    def forget(self) -> None:
        """Forgets what is kept unpacked, because it may have changed."""
        self._unpacked.clear()

    def _loose(self, block_id: int) -> bytes:
        rows = self._connection.execute("SELECT data FROM loose WHERE block_id = ? ORDER BY loose_id", (block_id,))
        return b"".join(row[0] for row in rows)


def _pack(content: bytes) -> tuple[int, bytes]:
    packed = lzma.compress(content, format=lzma.FORMAT_RAW, filters=_FILTERS)
    return (_LZMA, packed) if len(packed) < len(content) else (_STORED, content)


def _unpack(data: bytes, codec: int) -> bytes:
    return lzma.decompress(data, format=lzma.FORMAT_RAW, filters=_FILTERS) if codec == _LZMA else data
