"""Everything that a store's files hold, also what is compressed in rows, in free pages and in a write-ahead log."""

import re
import zlib
from collections.abc import Iterable
from pathlib import Path

# The beginnings of streams that zlib makes, one for each of its levels (RFC 1950, section 2.2).
_STREAM = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
# Bytes of a compressed value that no other value has. The first ones may be equal: they name the kind of event.
_WINDOW, _FIRST = 24, 64


def plain_and_inflated(files: Iterable[Path]) -> bytes:
    """Returns the bytes of files, each followed by all streams of zlib in it, inflated as far as they go. SQLite parts
    a long value over pages with other bytes between them; only its beginning is inflated then."""
    found: list[bytes] = []
    for file in files:
        data = file.read_bytes()
        found += [data, *(_inflated(data[match.start() :]) for match in _STREAM.finditer(data))]
    return b"\n".join(found)


def windows_left(values: Iterable[bytes], files: Iterable[Path]) -> list[bytes]:
    """Returns the pieces of compressed values that are in files."""
    data = b"\n".join(file.read_bytes() for file in files)
    pieces = (value[at : at + _WINDOW] for value in values for at in range(_FIRST, len(value) - _WINDOW, _WINDOW))
    return [piece for piece in pieces if piece in data]


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    found = b""
    try:
        # Piece by piece, because an error takes with it what was inflated in the same call.
        for at in range(0, len(data), 64):
            found += stream.decompress(data[at : at + 64])
            if stream.eof:
                break
    except zlib.error:
        pass
    return found
