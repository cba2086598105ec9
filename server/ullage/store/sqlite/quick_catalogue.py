"""What hooks and status lines write into the catalogue next to a store: what an agent said to its status line, and the
receipts of what hooks gave back.

They start with each message of an agent, so nothing is imported here that takes long. `_sqlite3` is what `sqlite3`
wraps; the rest of that, mostly dates, takes longer to import than a row takes to write.
"""

import os
import time

from ullage.host.side_files import CATALOGUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

# The tables are described in the README. They are kept when a catalogue of another version is made again.
QUICK_TABLES = (
    "CREATE TABLE IF NOT EXISTS told (agent_session_id TEXT PRIMARY KEY, at INTEGER NOT NULL, window INTEGER, "
    "said BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS receipts (receipt_id INTEGER PRIMARY KEY, agent_session_id TEXT NOT NULL, "
    "at INTEGER NOT NULL, receipt BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS receipts_of ON receipts (agent_session_id)",
)
# Seconds that another process's transaction is waited for. An agent waits for its status line, and asks again soon.
_STATUS_WAITS, _RECEIPT_WAITS = 0.3, 2.0
# Bytes of what an agent says to its status line: mostly about one thousand.
_LONGEST_SAID = 1 << 16
_DAY = 86_400_000
_TOLD_KEPT, _RECEIPTS_KEPT = 30 * _DAY, 90 * _DAY
# Bytes of a session's receipts, some fifty briefs.
_LONGEST_RECEIPTS = 600_000


def keep_told(store: str, agent_session_id: str, window: "int | None", said: bytes) -> None:
    """Keeps what an agent has said of a conversation, in place of what it said before, and the window (tokens) that is
    in it. What was said more than 30 days ago goes. Raises `OSError`."""
    now = _now()

    def write(catalogue: "sqlite3.Connection") -> None:
        row = now, window, said, agent_session_id
        if not catalogue.execute(
            "UPDATE told SET at = ?, window = ?, said = ? WHERE agent_session_id = ?", row
        ).rowcount:
            insert = "INSERT INTO told (at, window, said, agent_session_id) VALUES (?, ?, ?, ?)"
            catalogue.execute(insert, row)
            catalogue.execute("DELETE FROM told WHERE at < ?", (now - _TOLD_KEPT,))

    if len(said) <= _LONGEST_SAID:
        _with_catalogue(store, _in_transaction(write), _STATUS_WAITS, is_made=True)


def read_said(store: str) -> "list[tuple[int, bytes]]":
    """Returns what agents said of conversations, with Unix milliseconds, newest first. Raises `OSError`."""

    def read(catalogue: "sqlite3.Connection") -> "list[tuple[int, bytes]]":
        return catalogue.execute("SELECT at, said FROM told ORDER BY at DESC").fetchall()

    return _with_catalogue(store, read, _STATUS_WAITS, is_made=False) or []


def add_receipt(store: str, agent_session_id: str, at: int, receipt: bytes) -> None:
    """Adds a receipt, a JSON object, to those of a session. If these are long, the older half goes; so do those of all
    sessions that are older than 90 days. Raises `OSError`."""

    def write(catalogue: "sqlite3.Connection") -> None:
        add_receipt_to(catalogue, agent_session_id, at, receipt)
        catalogue.execute("DELETE FROM receipts WHERE at < ?", (_now() - _RECEIPTS_KEPT,))

    _with_catalogue(store, _in_transaction(write), _RECEIPT_WAITS, is_made=True)


def add_receipt_to(catalogue: "sqlite3.Connection", agent_session_id: str, at: int, receipt: bytes) -> None:
    """Adds a receipt, as `add_receipt` does, in a transaction of the caller."""
    insert = "INSERT INTO receipts (agent_session_id, at, receipt) VALUES (?, ?, ?)"
    catalogue.execute(insert, (agent_session_id, at, receipt))
    select = "SELECT receipt_id, length(receipt) FROM receipts WHERE agent_session_id = ? ORDER BY receipt_id"
    kept = catalogue.execute(select, (agent_session_id,)).fetchall()
    size = sum(length for _, length in kept)
    if size > _LONGEST_RECEIPTS:
        for receipt_id, length in kept[:-1]:
            if size <= _LONGEST_RECEIPTS // 2:
                break
            catalogue.execute("DELETE FROM receipts WHERE receipt_id = ?", (receipt_id,))
            size -= length


def _now() -> int:
    return time.time_ns() // 1_000_000


def _in_transaction(write: "Callable[[sqlite3.Connection], None]") -> "Callable[[sqlite3.Connection], None]":
    def write_all(catalogue: "sqlite3.Connection") -> None:
        catalogue.execute("BEGIN IMMEDIATE")
        try:
            write(catalogue)
            catalogue.execute("COMMIT")
        finally:
            if catalogue.in_transaction:
                catalogue.execute("ROLLBACK")

    return write_all


def _with_catalogue(store: str, use: "Callable[[sqlite3.Connection], T]", waits: float, *, is_made: bool) -> "T | None":
    """Returns what `use` returns for a connection to the catalogue; None if there is none and it is not to be made.
    Raises `OSError`, also for what SQLite raises."""
    try:
        import _sqlite3 as sqlite  # noqa: PLC0415
    except ImportError:
        import sqlite3 as sqlite  # noqa: PLC0415

    path = store + CATALOGUE
    if not os.path.exists(path):  # noqa: PTH110
        if not is_made:
            return None
        _make_file(path)
    try:
        catalogue = sqlite.connect(path, timeout=waits, isolation_level=None)
        try:
            # What is replaced is overwritten: it may be of a conversation that is to be forgotten.
            catalogue.execute("PRAGMA secure_delete = ON")
            if catalogue.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                catalogue.execute("PRAGMA synchronous = NORMAL")
            try:
                return use(catalogue)
            except sqlite.OperationalError as error:
                if "no such table" not in str(error):
                    raise
            _make_tables(catalogue)
            return use(catalogue)
        finally:
            catalogue.close()
    except sqlite.Error as error:
        raise OSError(f"{path}: {error}") from error


def _make_file(path: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)  # noqa: PTH103, PTH120
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        # Another process has made it at the same time.
        return


def _make_tables(catalogue: "sqlite3.Connection") -> None:
    if catalogue.execute("PRAGMA schema_version").fetchone() == (0,):
        catalogue.execute("PRAGMA journal_mode = WAL")
        catalogue.execute("PRAGMA synchronous = NORMAL")
    for statement in QUICK_TABLES:
        catalogue.execute(statement)
