"""Reads the content of transcripts, unpacked if they are compressed: gzip, bzip2, xz, and Zstandard, in which Codex
keeps old sessions.

Whatever a file holds, a bounded part of it is in memory: a power cut leaves gigabytes of NUL characters, a program that
failed a line without an end, and a compressed file of a few kilobytes may unpack to anything.
"""

import bz2
import gzip
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from ullage.bounds import (
    ANY_TIMES,
    LARGEST_TRANSCRIPT,
    LARGEST_VALUE,
    LONGEST_LINE,
    MOST_PASSED,
    MOST_TIMES,
    open_plain,
)
from ullage.model.errors import InvalidRequest

_ZSTD = b"\x28\xb5\x2f\xfd"
# A file may be several compressed parts one after another, which these classes join.
_OPENERS: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda data: cast("BinaryIO", gzip.GzipFile(fileobj=data)),
    b"BZh": lambda data: cast("BinaryIO", bz2.BZ2File(data)),
    b"\xfd7zXZ\0": lambda data: cast("BinaryIO", lzma.LZMAFile(data)),  # noqa: SIM115
}
_LONGEST_MAGIC = 8
# The endings of compressed files' names.
PACKED = frozenset({".zst", ".gz", ".bz2", ".xz"})
# Archives, which may hold several files, with the command that unpacks each.
_ARCHIVES = {b"PK\x03\x04": "unzip", b"7z\xbc\xaf\x27\x1c": "7z x"}
# The magic of a tar archive, and where it is (POSIX, ustar header).
_TAR, _TAR_AT = b"ustar", 257
# Bytes that are read at once.
_STEP = 1 << 20
# Replaces a line that is too long, unless that is the first.
TOO_LONG = b"a line of more than 64 MiB was passed over"
# NUL characters that no text has, UTF-16 included. Shorter runs are left to the parser.
_NULS = bytes(4_096)
_NUL_RUNS = re.compile(rb"\0{4096,}")
# Python's own module, from 3.14 on, or its backport.
ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def is_packed(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is compressed or an archive."""
    return data.startswith((_ZSTD, *_OPENERS, *_ARCHIVES)) or data.startswith(_TAR, _TAR_AT)


@contextmanager
def opened(path: Path) -> Generator[BinaryIO]:
    """Opens a file for reading its content from the beginning, unpacked if it is compressed. Closes it after the block.

    Raises `OSError`, and `InvalidRequest` if the file is damaged.
    """
    with open_plain(path) as file:
        head = file.read(_LONGEST_MAGIC)
        file.seek(0)
        opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
        try:
            if head.startswith(_ZSTD):
                with _zstd().ZstdFile(file) as unpacked:
                    yield unpacked
            else:
                yield opener(file) if opener else file
        except OSError:
            raise
        except (EOFError, zlib.error, lzma.LZMAError, *_zstd_error(head)) as error:
            raise InvalidRequest(f"cannot read {path}: {error}") from error


def read_content(path: Path) -> bytes:
    """Returns the content of a file; see `unpack`. Raises also `OSError`."""
    with open_plain(path) as file:
        return _content(file, str(path))


def unpack(data: bytes, name: str) -> bytes:
    """Returns the content of a compressed file, and other bytes as they are, but without long runs of NUL characters
    and without lines of more than 64 MiB; in their place a line says so. `name` is the file's name in errors.

    Raises `InvalidRequest` if the file is damaged, is an archive, or holds too much.
    """
    return _content(BytesIO(data), name)


def _content(file: BinaryIO, name: str) -> bytes:
    head, size = file.read(_LONGEST_MAGIC), file.seek(0, os.SEEK_END)
    file.seek(0)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    try:
        if head.startswith(_ZSTD):
            with _zstd().ZstdFile(file) as unpacked:
                return _bounded(unpacked, name, size)
        return _bounded(opener(file), name, size) if opener else _bounded(file, name, None)
    except (EOFError, OSError, zlib.error, lzma.LZMAError, *_zstd_error(head)) as error:
        raise InvalidRequest(f"cannot read {name}: {error}") from error


def _bounded(file: BinaryIO, name: str, packed: int | None) -> bytes:
    """Reads a file to its end. `packed` is its size if it is compressed."""
    kept, line_at, passed, seen = bytearray(), 0, 0, 0
    is_too_long = False
    while piece := file.read(_STEP):
        if not seen:
            _refuse_archive(piece, name)
        seen += len(piece)
        if packed is not None and seen > max(ANY_TIMES, MOST_TIMES * packed):
            raise InvalidRequest(f"cannot read {name}: it unpacks to more than {MOST_TIMES} times its size")
        whole, piece = len(piece), _NUL_RUNS.sub(b"", piece) if _NULS in piece else piece
        if is_too_long:
            end = piece.find(b"\n")
            is_too_long, piece = end < 0, piece[end:] if end >= 0 else b""
        passed += whole - len(piece)
        last = piece.rfind(b"\n")
        line_at = line_at if last < 0 else len(kept) + last + 1
        kept += piece
        if line_at and len(kept) - line_at > LONGEST_LINE:
            passed += len(kept) - line_at
            kept[line_at:] = TOO_LONG
            is_too_long = True
        most = LARGEST_VALUE if packed is not None or not line_at else LARGEST_TRANSCRIPT
        if passed > MOST_PASSED or len(kept) > most:
            raise InvalidRequest(f"cannot read {name}: it is too large for a transcript")
    return bytes(kept)


def _refuse_archive(begin: bytes, name: str) -> None:
    command = next((command for magic, command in _ARCHIVES.items() if begin.startswith(magic)), "")
    command = "tar -xf" if begin.startswith(_TAR, _TAR_AT) else command
    if command:
        raise InvalidRequest(f"{name} is an archive: unpack it with `{command}`, and name the file in it")


def _zstd() -> Any:
    # Imported on use: few files need it.
    return import_module(ZSTD_MODULE)


def _zstd_error(head: bytes) -> tuple[type[Exception], ...]:
    return (_zstd().ZstdError,) if head.startswith(_ZSTD) else ()
