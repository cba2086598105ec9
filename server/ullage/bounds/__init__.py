"""Bounds for everything that others have written, and the functions by which a file is opened for reading.

A settings file may be a named pipe, a link to a device, or have any size: a program that failed, a full disk or an
archive from elsewhere makes such files. What is opened here is a plain file, and what is read has a bound
(`tests/tidy/test_bounded_reads.py`).
"""

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, BinaryIO

# Bytes of a file with settings or of a program's own state. Claude Code's, the largest, grows to some 24 MB.
SETTINGS = 32 << 20
# Bytes of what an agent gives a hook or a status line, in which a prompt or a tool's result may be.
GIVEN = 32 << 20
# Bytes of a file that Ullage itself keeps: choices, receipts, which have two settings files, and lists.
OWN_FILE = 128 << 20
# Bytes of a script that a provider plays.
SCRIPT = 16 << 20
# Bytes of a line. The longest records hold pictures, of some megabytes. A first line may be a whole conversation.
LONGEST_LINE = 64 << 20
# Bytes of a file that is one JSON value, and of what a compressed file holds: transcripts have a few hundred megabytes.
LARGEST_VALUE = 512 << 20
# Bytes of any other transcript.
LARGEST_TRANSCRIPT = 4 << 30
# Bytes of long lines and NUL characters that are passed over before a file is refused: more would only take time.
MOST_PASSED = 1 << 30
# How many times larger than itself a compressed file may become, beyond the first bytes. Transcripts become ten to
# fifty times larger, zeros a thousand times and more.
MOST_TIMES, ANY_TIMES = 250, 64 << 20
# Windows has no such flags: its named pipes and devices are not in folders.
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_plain(path: "str | os.PathLike[str]") -> "BinaryIO":
    """Opens a file for reading its bytes, through links. Raises `OSError` for anything but a plain file: nothing waits
    for a named pipe, and no device is opened."""
    _demand_plain(os.stat(path).st_mode, path)  # noqa: PTH116  (hooks start without `pathlib`)
    descriptor = os.open(path, _FLAGS | _NO_WAIT)
    try:
        # It may have become another one since.
        _demand_plain(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_plain(path: "str | os.PathLike[str]", most: int) -> bytes:
    """Returns the content of a plain file. Raises `OSError` if it has more than `most` bytes, without reading it, or is
    anything else."""
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(most, path)
        return read_most(file, most, path)


def read_text(path: "str | os.PathLike[str]", most: int, errors: str = "strict") -> str:
    """Returns the text of a plain file in UTF-8, its line ends as Python has them. Raises what `read_plain` does, and
    `UnicodeDecodeError` unless `errors` says otherwise."""
    return read_plain(path, most).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def read_most(file: "IO[bytes]", most: int, name: "str | os.PathLike[str]" = "it") -> bytes:
    """Returns the rest of an open file, which may also be a pipe. Raises `OSError` if it has more than `most` bytes."""
    data = file.read(most + 1)
    if len(data) > most:
        raise _too_large(most, name)
    return data


def _demand_plain(mode: int, path: "str | os.PathLike[str]") -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))


def _too_large(most: int, name: object) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", str(name))
