"""Converts failures of the store's file to `StoreUnavailable`, with the path and the remedy."""

import sqlite3
from pathlib import Path

import msgspec

from ullage.model.errors import InvalidRequest, StoreUnavailable

# Seconds that a writer waits for another process's transaction. Transactions take milliseconds, so a longer wait means
# that the other process hangs.
BUSY_TIMEOUT = 5.0

_DAMAGED = "is damaged: move it away and a new one is made, or put back a copy"
# Primary result codes, https://www.sqlite.org/rescode.html
_REMEDIES = {
    sqlite3.SQLITE_NOTADB: "is not a session store: choose another file",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder exists and may be written",
    sqlite3.SQLITE_READONLY: "is read-only: make it and its folder writable, or choose another file",
    sqlite3.SQLITE_PERM: "may not be used: check its permissions, or choose another file",
    sqlite3.SQLITE_FULL: "has no room left on its disk: free some and try again",
    sqlite3.SQLITE_BUSY: f"was locked by another process for over {BUSY_TIMEOUT:g} s: end that one, or try again",
    sqlite3.SQLITE_IOERR: "could not be read or written: check the disk and its free space",
}


def unavailable(path: Path, remedy: str, what: str = "session store") -> StoreUnavailable:
    """Returns the error for a store at `path` that cannot be used. `remedy` continues the sentence that `what` and the
    path begin, for example "session store PATH"."""
    return StoreUnavailable(f"{what} {path} {remedy}")


class reporting:  # noqa: N801 - a context manager, used like a function
    """Converts failures of SQLite, the file system and decoding in the `with` block to `StoreUnavailable`, and values
    that SQLite cannot hold to `InvalidRequest`. A wrong use of SQLite is raised unchanged, because it is a bug.

    Every access to the store passes here, and a class costs a third of a generator.
    """

    __slots__ = ("_path", "_what")

    def __init__(self, path: Path, what: str = "session store") -> None:
        self._path = path
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None and (ours := _our_error(self._path, self._what, error)) is not None:
            raise ours from error


def _our_error(path: Path, what: str, error: BaseException) -> StoreUnavailable | InvalidRequest | None:
    match error:
        case sqlite3.ProgrammingError() | sqlite3.IntegrityError():
            return None
        case sqlite3.Error():
            # Python's module itself raises errors without a code. One says that a text is not UTF-8.
            is_text = "decode" in str(error)
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT if is_text else sqlite3.SQLITE_ERROR)
            remedy = _REMEDIES.get(code & 0xFF, f"cannot be used ({error})")
        case OSError():
            remedy = f"cannot be used ({error.strerror}): choose another file"
        case msgspec.DecodeError() | UnicodeDecodeError():
            remedy = f"{_DAMAGED} ({error})"
        case UnicodeEncodeError():
            return InvalidRequest(f"{error.object!r} is not a name: it holds half a surrogate pair")
        case OverflowError():
            return InvalidRequest(f"a number is out of range: {error}")
        case _:
            return None
    return unavailable(path, remedy, what)
