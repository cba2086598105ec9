"""The store's file: its check before SQLite opens it for writing, so that a file of another program stays untouched,
connections to it, transactions on it, its journal, its tables and their changes, and its failures as Ullage's errors.

The file is read through SQLite alone. POSIX gives up all locks of a process on a file as soon as the process closes it
once, which SQLite knows and other code does not: another process would then delete the write-ahead log that this one
still appends to (https://www.sqlite.org/howtocorrupt.html, section 2.2).

A read-only connection to a file with a write-ahead log would leave `-wal` and `-shm` files. So a file without a `-wal`
file is read as one that no process changes. If a `-wal` file exists, it may hold newer numbers.

A write-ahead log lets other processes read while one writes. Its index is memory that processes share, which some file
systems do not give that are mounted over a network or into a virtual machine. With a rollback journal (SQLite's mode
DELETE) a commit waits until no process reads, and reading waits for a commit. Both need locks that hold between
processes: without them several processes would damage the file, so it is not used.
"""

import errno
import mmap
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.host.side_files import BEFORE, COPYING, STORE, beside, data_folder
from ullage.model.errors import InvalidRequest, StoreTooNew, StoreUnavailable

_NO_LOCKS = "its file system has no locks that hold between processes"
# Seconds. Making the tables of a new file takes a few milliseconds.
_BUSY_PAUSE = 0.005
# https://www.sqlite.org/rescode.html#ioerr_shmmap and its neighbours
_NO_SHARED_MEMORY = (
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
# Another process tries to write while this one does.
_TRY_TO_WRITE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error.sqlite_errorname)
"""
_REFUSED = b"SQLITE_BUSY"
# Seconds. The process takes a few hundredths.
_PATIENCE = 60


def set_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Gives a database without tables a write-ahead log if it can have one, and checks the locks of one that has none.
    Raises `sqlite3.Error`, and `OSError` if there are no locks. If `lacks_shared_memory` is true for an error,
    `leave_log` helps."""
    (changes,) = connection.execute("PRAGMA schema_version").fetchone()
    if not changes and _shares_memory(path.parent):
        _change_mode(connection, "WAL")
    if not has_log(connection):
        _require_locks(connection, path)


def has_log(connection: sqlite3.Connection) -> bool:
    """Returns whether a database has a write-ahead log."""
    return connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def set_synchronous(connection: sqlite3.Connection) -> None:
    """Sets when a commit waits for the disk.

    With a write-ahead log, NORMAL hands each commit to the operating system without waiting. A commit survives the
    death of the process; a power cut may cost the newest commits, whole ones, and never damages the file
    (https://www.sqlite.org/pragma.html#pragma_synchronous). With a rollback journal, a power cut could damage it then.
    FULL waits, as it does everywhere if `ULLAGE_DURABLE` is `on`.
    """
    waits = os.environ.get("ULLAGE_DURABLE", "").lower() in ("on", "1") or not has_log(connection)
    connection.execute(f"PRAGMA synchronous = {'FULL' if waits else 'NORMAL'}")


def lacks_shared_memory(error: Exception) -> bool:
    """Returns whether an error says that a write-ahead log is not possible on the file system."""
    return getattr(error, "sqlite_errorcode", None) in _NO_SHARED_MEMORY


def leave_log(path: Path) -> None:
    """Gives a database a rollback journal, also if its log was begun elsewhere. Raises `sqlite3.Error`."""
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)) as connection:
        # A process that has the file for itself keeps the index of the log in its own memory.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _change_mode(connection, "DELETE")


def _shares_memory(folder: Path) -> bool:
    """Returns whether processes can share memory by files in a folder. SQLite finds out only after it has begun a log,
    which another process may then find."""
    # Not every such file system keeps a file that has no name.
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.truncate(mmap.PAGESIZE)
        try:
            mmap.mmap(file.fileno(), mmap.PAGESIZE).close()
        except OSError:
            return False
    return True


def _change_mode(connection: sqlite3.Connection, mode: str) -> None:
    """Changes the journal. SQLite refuses that at once, whatever the timeout, while another process writes to the file,
    as each does that opens a new one at the same time. So it is tried again for as long as other writers wait."""
    until = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_BUSY_PAUSE)
        else:
            return


def _require_locks(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `OSError` unless another process is kept from writing while this one does."""
    command = [sys.executable, "-I", "-c", _TRY_TO_WRITE, str(path.absolute())]
    connection.execute("BEGIN IMMEDIATE")
    try:
        # A program that was frozen into one file is no Python: it would run itself.
        asked = None if hasattr(sys, "frozen") else _ask(command)
    finally:
        connection.execute("ROLLBACK")
    if asked != _REFUSED:
        raise OSError(errno.ENOLCK, _NO_LOCKS)


def _ask(command: list[str]) -> bytes:
    try:
        return subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False).stdout.strip()
    except subprocess.TimeoutExpired:
        return b""


# "ullg": distinguishes a session store from any other SQLite file.
APPLICATION_ID = 0x756C6C67

# `records.messages` counts the messages up to and including the record, inherited ones too, so that a session's
# count, and a message's index, are read from one row. `records.event` is the event's tag,
# `records.message_id` the appended message's id.
_V1 = (
    """
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        parent_id TEXT,
        fork_position INTEGER,
        deleted INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        title TEXT NOT NULL,
        cwd TEXT NOT NULL,
        model TEXT NOT NULL,
        indexed_position INTEGER NOT NULL DEFAULT -1
    )
    """,
    "CREATE INDEX forks ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    """
    CREATE TABLE records (
        record_id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        timestamp INTEGER NOT NULL,
        event TEXT NOT NULL,
        messages INTEGER NOT NULL,
        message_id TEXT,
        payload BLOB NOT NULL,
        UNIQUE (session_id, position)
    )
    """,
    "CREATE INDEX message_ids ON records (session_id, message_id) WHERE message_id IS NOT NULL",
    "CREATE INDEX message_numbers ON records (session_id, messages) WHERE message_id IS NOT NULL",
    "CREATE INDEX edits ON records (session_id, position) WHERE event IN ('context_edited', 'edit_reverted')",
    "CREATE TABLE snapshots (session_id TEXT PRIMARY KEY, position INTEGER NOT NULL, snapshot BLOB NOT NULL)",
    "CREATE TABLE calibrations (model TEXT PRIMARY KEY, calibration BLOB NOT NULL)",
    "CREATE VIRTUAL TABLE message_text USING fts5 (text)",
    f"PRAGMA application_id = {APPLICATION_ID}",
)

# A row of `message_text` is a chunk of a message, see `word_index.py`. The older index held one message per row; the
# next search fills the new one from the log.
_V2 = (
    "DROP TABLE message_text",
    "CREATE VIRTUAL TABLE message_text USING fts5 (names, words, tokenize = 'porter unicode61 remove_diacritics 2')",
    "UPDATE sessions SET indexed_position = -1",
)

# The index has no text of its own (`content`), and of a word only in which rows it is (`detail`), see `word_index.py`:
# a seventh of the text, where text, places and two columns took more than twice the text. `message_vocabulary` counts
# the rows of a word.
_V3 = (
    "DROP TABLE message_text",
    "CREATE VIRTUAL TABLE message_words USING fts5 (tokens, content = '', detail = none, tokenize = 'ascii')",
    "CREATE VIRTUAL TABLE message_vocabulary USING fts5vocab (message_words, row)",
    "CREATE TABLE message_chunks (first_row INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, chunks INTEGER NOT NULL)",
    "CREATE INDEX chunked_records ON message_chunks (record_id)",
    "UPDATE sessions SET indexed_position = -1",
)

# The sessions of agents behind the proxy are found without reading their messages.
_V4 = ("CREATE INDEX attachments ON records (session_id, position) WHERE event = 'agent_attached'",)

# Embeddings of chunks of messages, see `vectors.py`. A migration that changes what a chunk is must empty it. And the
# sessions with settings of their own are found without reading all records.
_V5 = (
    """
    CREATE TABLE vectors (
        vector_id INTEGER PRIMARY KEY,
        record_id INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        model TEXT NOT NULL,
        vector BLOB NOT NULL,
        UNIQUE (record_id, chunk, model)
    )
    """,
    "CREATE INDEX configurations ON records (session_id) WHERE event = 'session_configured'",
)

# Payloads and snapshots may be compressed, see `session_table.py`. No table changes: the number keeps out versions that
# can't read such rows.
_V6: tuple[str, ...] = ()

MIGRATIONS = (_V1, _V2, _V3, _V4, _V5, _V6)
VERSION = len(MIGRATIONS)
# Versions whose migrations are additions. Those up to 6 are in files that have the plain number.
ADDITIONS = frozenset[int]()
_FACTOR = 1_000


def numbers(user_version: int) -> tuple[int, int]:
    """Returns the lowest version of Ullage's store that can use a file, and the version that the file has."""
    return (user_version, user_version) if user_version < _FACTOR else (user_version // _FACTOR, user_version % _FACTOR)


def migrate(
    connection: sqlite3.Connection,
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS,
    additions: frozenset[int] = ADDITIONS,
) -> None:
    """Runs the migrations that the store's file has not seen, and records its new version. The caller must hold a write
    transaction, so that either all of them run or none."""
    _, version = numbers(connection.execute("PRAGMA user_version").fetchone()[0])
    if version >= len(migrations):
        return
    for statements in migrations[version:]:
        for statement in statements:
            connection.execute(statement)
    needed = max({*range(len(migrations) + 1)} - additions)
    number = len(migrations) if needed == len(migrations) else needed * _FACTOR + len(migrations)
    connection.execute(f"PRAGMA user_version = {number}")


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


# Times that the write-ahead log is tried to be emptied, each for as long as a transaction is waited for.
_CHECKPOINTS = 6
# Bytes of the largest store that is copied before its tables change.
_LARGEST_COPY = 1 << 30


def default_path() -> Path:
    """Returns the path of the store in the user's data folder."""
    return data_folder() / STORE


def connect(path: Path) -> sqlite3.Connection:
    """Returns a connection to the store's file, which is made if missing, with its tables up to date."""
    check_file(path)
    make_file(path)
    return connected(path, lambda connection: _prepare(connection, path))


def reconnect(path: Path) -> sqlite3.Connection:
    """Returns a further connection to a file that `connect` has opened. Any thread may use it, one at a time."""
    return _ready(path, set_synchronous)


def connected(
    path: Path, prepare: Callable[[sqlite3.Connection], None], layout: str = "SELECT 1"
) -> sqlite3.Connection:
    """Returns a connection to a file that exists, after it was given its journal and `prepare` was applied. `layout` is
    a statement that has to come before the journal. Any thread may use the connection, one at a time. If that fails, it
    is closed and `sqlite3.Error` or `OSError` raised."""

    def prepare_journal(connection: sqlite3.Connection) -> None:
        connection.execute(layout)
        set_journal(connection, path)
        set_synchronous(connection)
        prepare(connection)

    try:
        return _ready(path, prepare_journal)
    except sqlite3.OperationalError as error:
        if not lacks_shared_memory(error):
            raise
    leave_log(path)
    return _ready(path, prepare_journal)


def _ready(path: Path, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        # Overwrites what is deleted. Not every SQLite does so by itself: its own default leaves it in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        prepare(connection)
    except (sqlite3.Error, OSError):
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) < VERSION:
        with transaction(connection, "IMMEDIATE"):
            if 0 < _version(connection) < VERSION:
                _keep_copy(connection, path)
            migrate(connection)


def _version(connection: sqlite3.Connection) -> int:
    return numbers(connection.execute("PRAGMA user_version").fetchone()[0])[1]


def _keep_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Copies a store that nobody else writes, as a way back to the Ullage that wrote it, and removes an older copy. A
    store that is too large, or for which the disk lacks room, is not copied."""
    copy, made = copy_before(path, _version(connection)), beside(path, COPYING)
    size = path.stat().st_size
    _remove_copies(path)
    if size > _LARGEST_COPY or shutil.disk_usage(path.parent).free < 3 * size:
        return
    try:
        make_file(made)
        # A connection of its own sees what is committed, also in the log.
        with closing(reconnect(path)) as source, closing(sqlite3.connect(made)) as target:
            source.backup(target)
        made.replace(copy)
    except (OSError, sqlite3.Error):
        _remove_copies(path)


def _remove_copies(path: Path) -> None:
    for old in (*path.parent.glob(f"{path.name}{BEFORE}*"), beside(path, COPYING)):
        with suppress(OSError):
            old.unlink()


def overwrite_deleted(path: Path, what: str = "session store", *, rewrite: bool) -> None:
    """Empties the write-ahead log of a file, where deleted rows may still be, and removes its copy from before an
    upgrade. With `rewrite`, writes the whole file again before that: what was deleted by a connection without
    `secure_delete` may be anywhere between its rows.

    Blocks, on a connection of its own. Raises `StoreUnavailable` if another process keeps the log in use for longer
    than a transaction takes.
    """
    with reporting(path, what):
        _remove_copies(path)
        connection = reconnect(path)
        try:
            if rewrite:
                connection.execute("VACUUM")
            for _ in range(_CHECKPOINTS):
                (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not is_busy:
                    return
        finally:
            connection.close()
    raise unavailable(
        path, "is being read by another process: what was deleted stays in its -wal file until it ends", what
    )


class SameFile:
    """The file at the store's path, with its write-ahead log and the index of that, to notice that one of them is
    another file, or none, while a connection is open. SQLite would then commit to a file that no program opens again.
    It keeps both files while any connection is open."""

    def __init__(self, path: Path) -> None:
        path = path.absolute()
        self._known = {part: _identity(part) for part in (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm")))}
        self._path = path

    def require(self) -> None:
        """Raises `StoreUnavailable` if one of the files was deleted, moved or replaced."""
        for part, known in self._known.items():
            found = _identity(part)
            if found == known:
                continue
            if known is None and part != self._path:
                # SQLite makes it when it is first needed.
                self._known[part] = found
                continue
            raise unavailable(
                part,
                "was deleted, moved or replaced while it was open, and what is said now would be kept nowhere: "
                "put it back, or start Ullage again",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class transaction:  # noqa: N801 - a context manager, used like a function
    """Runs the `with` block as one transaction, which is rolled back if the block raises. IMMEDIATE takes the write
    lock at the start, so what the block reads stays true until it writes; DEFERRED gives several reads one consistent
    state."""

    __slots__ = ("_connection", "_mode")

    def __init__(self, connection: sqlite3.Connection, mode: Literal["IMMEDIATE", "DEFERRED"]) -> None:
        self._connection = connection
        self._mode = mode

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute(f"BEGIN {self._mode}")
        return self._connection

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


class writing(transaction):  # noqa: N801 - a context manager, used like a function
    """Runs the `with` block as a transaction that writes to the store's file. After its commit it raises
    `StoreUnavailable` if the path no longer leads to that file, so that nothing is acknowledged that is then
    lost."""

    __slots__ = ("_file",)

    def __init__(self, connection: sqlite3.Connection, file: SameFile) -> None:
        super().__init__(connection, "IMMEDIATE")
        self._file = file

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            self._file.require()


# Bytes. A shorter file is no database (https://www.sqlite.org/fileformat2.html#the_database_header).
_HEADER_SIZE = 100
_NOT_CHANGING, _READ_ONLY = "immutable=1", "mode=ro"
# What a file may seem to be while another process commits to it, or empties or removes its log; how often it is read
# again then, and the seconds in between.
_PASSING = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN)
_TRIES, _TRY_AGAIN = 5, 0.02
# Conversations are private to the user. SQLite gives the files next to it the same mode.
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_making = Lock()


class _Stamp(Struct, frozen=True, kw_only=True):
    """Numbers from a database file's header. `schema_version` counts changes of the tables: 0 means that the file has
    no table. `user_version` is the version of Ullage's tables, and `application_id` is the number of the program that
    owns the file, 0 if none does (https://www.sqlite.org/fileformat.html)."""

    schema_version: int
    user_version: int
    application_id: int


def check_file(path: Path) -> None:
    """Raises `StoreTooNew` if the file is the store of a newer Ullage, and `StoreUnavailable` if it is not a store. A
    missing or empty file is accepted. Changes nothing."""
    if path.is_dir():
        raise unavailable(path, "is a folder: name a file in it")
    if not path.exists() or path.stat().st_size == 0:
        return
    stamp = _read_stamp(path)
    if stamp.schema_version == 0:
        return
    if stamp.application_id != APPLICATION_ID:
        raise unavailable(path, "is another program's database: choose another file")
    needed, version = numbers(stamp.user_version)
    if needed > VERSION:
        kept = copy_before(path, VERSION)
        other = f"choose its copy from before the upgrade, {kept}" if kept.exists() else "choose another file"
        raise StoreTooNew(
            f"session store {path} has version {version}, this Ullage knows up to {VERSION}: "
            f"update Ullage, or {other}; nothing was changed"
        )


def copy_before(path: Path, version: int) -> Path:
    """Returns the path of the copy that is made of a store of a version before a newer Ullage changes its tables."""
    return beside(path, f"{BEFORE}{version}")


def _read_stamp(path: Path) -> _Stamp:
    if path.stat().st_size < _HEADER_SIZE:
        raise unavailable(path, "is not a session store: choose another file")
    wal = path.with_name(f"{path.name}-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    ways = (_READ_ONLY, _NOT_CHANGING) if has_wal else (_NOT_CHANGING, _READ_ONLY)
    for how in ways * _TRIES:
        try:
            return _ask_sqlite(path, how)
        except sqlite3.DatabaseError as error:
            if not lacks_shared_memory(error) and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _PASSING:
                raise
            time.sleep(_TRY_AGAIN)
    return _ask_sqlite(path, ways[0])


def _ask_sqlite(path: Path, how: str) -> _Stamp:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        schema_version, user_version, application_id = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("schema_version", "user_version", "application_id")
        )
    return _Stamp(schema_version=schema_version, user_version=user_version, application_id=application_id)


def make_file(path: Path) -> None:
    """Makes an empty file for the user alone, and its folders, if missing. Raises `OSError` if it can't be written."""
    # A thread that finds the file may lock it. So none finds it before it is closed.
    with _making:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
