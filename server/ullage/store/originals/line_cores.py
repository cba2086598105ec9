"""Divides files into pieces that occur again in other files, although each file has a session id of its own.

A fork repeats the lines of its parent. Claude Code writes the id of the fork into each of them, and after `/branch`
also where the line comes from (`forkedFrom`). So both are taken out of a line before it is compared; what is left is
the line's core. Files without line ends, and records that repeat a whole conversation, are divided between the objects
of a list.
"""

import re
from collections.abc import Iterator
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
        """Returns the pieces of which these are the cores, one after the other. All have the same shape."""
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
