"""The session store in one SQLite file, which may also be opened only to be read.

Its index of words is a table of FTS5 (https://www.sqlite.org/fts5.html).
"""

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import Literal, TypeVar

from ullage.model.errors import StoreUnavailable
from ullage.service.ports.store import Passage
from ullage.store.search.searcher import Searcher
from ullage.store.search.word_index import WantedRows, WordIndex
from ullage.store.sqlite.database import (
    SameFile,
    check_file,
    connect,
    default_path,
    overwrite_deleted,
    reconnect,
    reporting,
    transaction,
    unavailable,
    writing,
)
from ullage.store.table_store import TableStore
from ullage.store.tables.session_table import Connection, packed

# Pages that are merged in one transaction, which other writers wait for: some milliseconds.
_MERGED = 500
# Levels of the index at which it is made again instead of merged. Each merge of all parts adds one, and FTS5 calls an
# index with over 2,000 damaged (`FTS5_MAX_SEGMENT` in SQLite's fts5_index.c).
_MOST_LEVELS = 1_500
T = TypeVar("T")
log = logging.getLogger(__name__)


class Fts5Index:
    """The index of words on a connection to the store's file; see `WordIndex`."""

    # More records than this would be a store of some hundred gigabytes. A larger number would take another byte in each
    # entry of the index.
    further = 1 << 28

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = self.stream = connection.execute
        self.executemany = connection.executemany
        self.kept = packed

    def further_rows(self, _: int, /) -> int:
        """Returns the first of new ids in a row."""
        row = self.execute("SELECT first_row + chunks FROM message_chunks ORDER BY first_row DESC LIMIT 1").fetchone()
        return row[0] if row else self.further

    def insert_rows(self, rows: Sequence[tuple[int, int, str]], /) -> None:
        written = ((row_id, tokens) for row_id, _, tokens in rows)
        self.executemany("INSERT INTO message_words (rowid, tokens) VALUES (?, ?)", written)

    def delete_rows(self, rows: Sequence[tuple[int, str]], /) -> None:
        """Deletes rows. The index has no text of its own, so FTS5 needs the tokens again."""
        self.executemany("INSERT INTO message_words (message_words, rowid, tokens) VALUES ('delete', ?, ?)", rows)

    def has_row(self, row_id: int, /) -> bool:
        return self.execute("SELECT 1 FROM message_words_docsize WHERE id = ?", (row_id,)).fetchone() is not None

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        return {row_id: self._row_length(row_id) for row_id in row_ids}

    def _row_length(self, row_id: int) -> int:
        (size,) = self.execute("SELECT sz FROM message_words_docsize WHERE id = ?", (row_id,)).fetchone()
        length = 0
        for byte in size:
            # FTS5 writes seven bits of the number in each byte, the high ones first.
            length = length << 7 | byte & 127
        return length

    def rows(self) -> int:
        """Returns about how many rows there are, by their highest ids, whose gaps are few."""
        (last,) = self.execute("SELECT max(id) FROM message_words_docsize WHERE id < ?", (self.further,)).fetchone()
        return (last or 0) + self.further_rows(1) - self.further

    def last_record(self) -> int:
        (last,) = self.execute("SELECT max(record_id) FROM records").fetchone()
        return last or 0

    def find_rows(self, wanted: Sequence[WantedRows], /) -> list[list[int]]:
        return [self._find_rows(one) for one in wanted]

    def _find_rows(self, wanted: WantedRows) -> list[int]:
        rows = self.execute(
            "SELECT rowid FROM message_words WHERE message_words MATCH ? AND rowid >= ? AND rowid <= ? "
            "ORDER BY rowid DESC LIMIT ?",
            (wanted.expression, wanted.first, wanted.last, -1 if wanted.limit is None else wanted.limit),
        )
        return [row_id for (row_id,) in rows.fetchall()]

    def count_rows(self, tokens: Sequence[str], /) -> list[int]:
        return [self._count_rows(token) for token in tokens]

    def _count_rows(self, token: str) -> int:
        row = self.execute("SELECT doc FROM message_vocabulary WHERE term = ?", (token,)).fetchone()
        return row[0] if row else 0

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        return frozenset(word for word in words if self._count_rows(word))

    def words_beginning(self, beginnings: Sequence[str], limit: int, /) -> list[list[str]]:
        return [self._words_beginning(one, limit) for one in beginnings]

    def _words_beginning(self, beginning: str, limit: int) -> list[str]:
        terms = self.execute(
            "SELECT term FROM message_vocabulary WHERE term >= ? AND term < ? LIMIT ?",
            # The character after "z" is the next one of ASCII.
            (beginning, f"{beginning}{{", limit),
        )
        return [term for (term,) in terms.fetchall()]

    def count_matches(self, expressions: Sequence[str], most: int, /) -> list[int]:
        counting = "SELECT count(*) FROM (SELECT 1 FROM message_words WHERE message_words MATCH ? LIMIT ?)"
        return [self.execute(counting, (expression, most)).fetchone()[0] for expression in expressions]


class Fts5Transactions:
    """Transactions on the index, on a connection of their own, so that the store's owner never waits for a search. Any
    thread may begin one; they wait for each other, and each is short. See `IndexTransactions`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    @contextmanager
    def reading(self) -> Generator[WordIndex]:
        with self._transaction("DEFERRED") as index:
            yield index

    @contextmanager
    def writing(self) -> Generator[WordIndex]:
        with self._transaction("IMMEDIATE") as index:
            yield index

    def merge_all(self) -> None:
        """Merges the index into one part. Until then, FTS5 keeps deleted tokens, with a mark that they are deleted. Its
        option `secure-delete` would not, but SQLite before 3.42 can't read an index that was written with it."""
        with self.reading() as index:
            levels = _levels(index)
        if levels > _MOST_LEVELS:
            self.empty()
            return
        pages = -_MERGED
        while True:
            with self.writing() as index:
                before = self._changes()
                index.execute("INSERT INTO message_words (message_words, rank) VALUES ('merge', ?)", (pages,))
                # Fewer changes than two mean that nothing was left to do (https://www.sqlite.org/fts5.html).
                if self._changes() - before < 2:
                    return
            # A negative number begins the merge of all parts, a positive one continues it.
            pages = _MERGED

    def empty(self) -> None:
        """Empties the index, which is then filled again from the log: it has nothing of its own."""
        with self.writing() as index:
            index.execute("INSERT INTO message_words (message_words) VALUES ('delete-all')")
            index.execute("DELETE FROM message_chunks")
            index.execute("UPDATE sessions SET indexed_position = -1")

    def _changes(self) -> int:
        return self._connection.total_changes if self._connection else 0

    def close(self) -> None:
        """Closes the connection once the running transaction has ended. Later ones raise `StoreUnavailable`."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _transaction(self, mode: Literal["DEFERRED", "IMMEDIATE"]) -> Generator[WordIndex]:
        with self._lock, reporting(self._path):
            if self._closed:
                # A search in another thread may still be indexing. It must not open the file again.
                raise unavailable(self._path, "is closed")
            if self._connection is None:
                self._connection = reconnect(self._path)
            with transaction(self._connection, mode) as connection:
                yield Fts5Index(connection)


def _levels(index: WordIndex) -> int:
    """Returns the levels of the index: in its structure record, a number of seven bits a byte after four bytes."""
    (structure,) = index.execute("SELECT block FROM message_words_data WHERE id = 10").fetchone()
    levels = 0
    for byte in structure[4:]:
        levels = levels << 7 | byte & 127
        if byte < 128:
            break
    return levels


def open_store(path: Path | None = None) -> "SqliteStore":
    """Opens the store at `path`, by default in the user's data folder. Makes the file and its folders if they are
    missing.

    Raises `StoreTooNew` if a newer Ullage wrote it and `StoreUnavailable` if it cannot be used; then the file is not
    changed.
    """
    path = path or default_path()
    with reporting(path):
        return SqliteStore(path, connect(path))


class SqliteStore(TableStore):
    """The session store in one SQLite file. Threads wait for each other's transactions, except in `search`,
    `find_passages`, `index_some` and `read_apart`. Any number of processes may have the same file open.

    An append that returned survives `kill -9` of the process. After a power cut the newest appends may be missing, from
    the last one backwards; the file stays intact.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._index = Fts5Transactions(path)
        self._searcher = Searcher(self._index)
        self._reporting = reporting(path)
        own, lock = Fts5Index(connection), RLock()
        self._to_read = _Reported(own, self._reporting, transaction(connection, "DEFERRED"), lock)
        self._to_write = _Reported(own, self._reporting, writing(connection, SameFile(path)), lock)

    def close(self) -> None:
        """Closes the store's file. The store cannot be used afterwards."""
        with self._reporting:
            self._index.close()
            self._connection.close()

    def version(self) -> int:
        with self._reporting:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return version

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        self._with_whole_index(self._index.merge_all)
        overwrite_deleted(self.path, rewrite=rewrite)

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        return self._with_whole_index(partial(super().find_passages, query, session_id, limit))

    def index_some(self, session_id: str | None = None) -> int:
        return self._with_whole_index(partial(super().index_some, session_id))

    def delete(self, session_id: str) -> None:
        self._with_whole_index(partial(super().delete, session_id))

    def _with_whole_index(self, work: Callable[[], T]) -> T:
        """Returns what `work` returns. If the index of words is damaged, empties it and has the work done again."""
        try:
            return work()
        except StoreUnavailable as error:
            # Of the file itself SQLite would say SQLITE_CORRUPT.
            if getattr(error.__cause__, "sqlite_errorcode", 0) != sqlite3.SQLITE_CORRUPT_VTAB:
                raise
            log.warning("%s: the index of words was damaged, and is made again", self.path)
        self._index.empty()
        return work()

    def reading(self) -> AbstractContextManager[Connection]:
        return self._to_read

    def _writing(self, _: str, /) -> AbstractContextManager[Connection]:
        # SQLite lets one connection write at a time, whatever the session.
        return self._to_write

    def _writing_alone(self) -> AbstractContextManager[WordIndex]:
        return self._to_write

    @contextmanager
    def _reading_apart(self) -> Generator[Connection]:
        with self._reporting, closing(reconnect(self.path)) as connection, transaction(connection, "DEFERRED"):
            yield Fts5Index(connection)


class _Reported:
    """A transaction whose failures, and those of its block, are raised as Ullage's errors. Every access to the store
    passes here, and a class costs a third of a generator.

    A connection has one transaction at a time: another thread's would be committed with it, or half of it. So threads
    wait for the `lock`."""

    __slots__ = ("_connection", "_lock", "_reporting", "_transaction")

    def __init__(self, connection: WordIndex, reports: reporting, of: transaction, lock: RLock) -> None:
        self._connection, self._reporting, self._transaction, self._lock = connection, reports, of, lock

    def __enter__(self) -> WordIndex:
        self._lock.acquire()
        try:
            with self._reporting:
                self._transaction.__enter__()
        except BaseException:
            self._lock.release()
            raise
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            with self._reporting:
                self._transaction.__exit__(kind, error, trace)
        finally:
            self._lock.release()
        self._reporting.__exit__(kind, error, trace)


# The files of one database that hold content: with a write-ahead log or a rollback journal. SQLite makes the -shm file.
_PARTS = ("", "-wal", "-journal")


@contextmanager
def open_to_read(path: Path | None = None) -> Generator[SqliteStore]:
    """Opens the store at `path`, by default in the user's data folder, for a caller that changes nothing, and yields
    it.

    A missing store is read as an empty one and is not made. A store that may not be written to is copied, because
    SQLite cannot read a database in WAL mode without writing next to it. Raises `StoreTooNew` or `StoreUnavailable`.
    """
    path = path or default_path()
    if path.exists() and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        with open_store(path) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        copy = Path(folder) / "sessions.db"
        _copy(path, copy)
        with open_store(copy) as store:
            yield store


def _copy(path: Path, copy: Path) -> None:
    """Copies the store's files, if there are any. Raises `StoreTooNew` for the store of a newer Ullage, and
    `StoreUnavailable` if `path` is not a store or cannot be read."""
    with reporting(path):
        check_file(path)
        for part in _PARTS:
            source = path.with_name(path.name + part)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + part))
