"""Converts failures of the store's file to `StoreUnavailable`, with the path and the remedy."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
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


def unavailable(path: Path, remedy: str) -> StoreUnavailable:
    """Returns the error for a store that cannot be used."""
    return StoreUnavailable(f"session store {path} {remedy}")


@contextmanager
def reporting(path: Path) -> Generator[None]:
    """Turns failures of SQLite, the file system and decoding into our errors. A wrong use of SQLite stays a bug."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise
    except sqlite3.Error as error:
        remedy = _REMEDIES.get(error.sqlite_errorcode & 0xFF, f"cannot be used ({error})")
        raise unavailable(path, remedy) from error
    except OSError as error:
        raise unavailable(path, f"cannot be used ({error.strerror}): choose another file") from error
    except msgspec.DecodeError as error:
        raise unavailable(path, f"{_DAMAGED} ({error})") from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{error.object!r} is not a name: it holds half a surrogate pair") from error
    except OverflowError as error:
        raise InvalidRequest(f"a number is out of range: {error}") from error
