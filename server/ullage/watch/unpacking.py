"""Unpacks compressed transcripts: gzip, bzip2, xz, and Zstandard, in which Codex keeps old sessions."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from ullage.model import words
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
# Bytes. A transcript is a few hundred megabytes at most; a compressed file that grows beyond this is a mistake.
_LARGEST_UNPACKED, _STEP = 4 << 30, 1 << 20
# Python's own module (from 3.14) and its backport (the extra `zstd`).
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")


def reads_zstd() -> bool:
    """Returns whether files that are compressed with Zstandard can be read: Python's own module or the extra `zstd` is
    there."""
    return _zstd() is not None


def is_packed(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is compressed or an archive."""
    return data.startswith((_ZSTD, *_OPENERS, *_ARCHIVES)) or data.startswith(_TAR, _TAR_AT)


@contextmanager
def opened(path: Path) -> Generator[BinaryIO]:
    """Opens a file for reading its content from the beginning, unpacked if it is compressed. Closes it after the block.

    Raises `OSError`, and `InvalidRequest` if the file is damaged or needs a package that isn't installed.
    """
    with path.open("rb") as file:
        head = file.read(_LONGEST_MAGIC)
        file.seek(0)
        opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
        try:
            if head.startswith(_ZSTD):
                with _zstd_for(str(path)).ZstdFile(file) as unpacked:
                    yield unpacked
            else:
                yield opener(file) if opener else file
        except OSError:
            raise
        except (EOFError, zlib.error, lzma.LZMAError, _zstd_error()) as error:
            raise InvalidRequest(f"cannot read {path}: {error}") from error


def unpack(data: bytes, name: str) -> bytes:
    """Returns the content of a compressed file, and other bytes as they are. `name` is the file's name in errors.

    Raises `InvalidRequest` if the file is damaged, is an archive, holds more than 4 GiB, or needs a package that isn't
    installed.
    """
    try:
        unpacked = _unpack_zstd(data, name) if data.startswith(_ZSTD) else _unpack(data)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise InvalidRequest(f"cannot read {name}: {error}") from error
    command = next((command for magic, command in _ARCHIVES.items() if unpacked.startswith(magic)), "")
    command = "tar -xf" if unpacked.startswith(_TAR, _TAR_AT) else command
    if command:
        raise InvalidRequest(f"{name} is an archive: unpack it with `{command}`, and name the file in it")
    return unpacked


def _unpack(data: bytes) -> bytes:
    opener = next((opener for magic, opener in _OPENERS.items() if data.startswith(magic)), None)
    if opener is None:
        return data
    unpacked = bytearray()
    with opener(BytesIO(data)) as file:
        while piece := file.read(_STEP):
            unpacked += piece
            if len(unpacked) > _LARGEST_UNPACKED:
                raise _too_large()
    return bytes(unpacked)


def _unpack_zstd(data: bytes, name: str) -> bytes:
    zstd = _zstd_for(name)
    try:
        with zstd.ZstdFile(BytesIO(data)) as file:
            unpacked: bytes = file.read(_LARGEST_UNPACKED)
            more: bytes = file.read(1)
    except zstd.ZstdError as error:
        raise InvalidRequest(f"cannot read {name}: {error}") from error
    if more:
        raise _too_large()
    return unpacked


def _zstd_for(name: str) -> Any:
    """Returns the module that reads Zstandard. Raises `InvalidRequest`, which names the file, if there is none."""
    zstd = _zstd()
    if zstd is None:
        raise InvalidRequest(
            f"cannot read {name}: it is compressed with Zstandard. Unpack it with `zstd -d`, or install what reads it: "
            f"{words.how_to_install('zstd')}"
        )
    return zstd


def _zstd_error() -> type[Exception]:
    zstd = _zstd()
    return zstd.ZstdError if zstd else EOFError


def _zstd() -> Any:
    for module in _ZSTD_MODULES:
        try:
            return import_module(module)
        except ImportError:
            continue
    return None


def _too_large() -> InvalidRequest:
    return InvalidRequest(f"the compressed file holds more than {_LARGEST_UNPACKED >> 30} GiB")
