"""The index of words in SQLite: a table of FTS5 (https://www.sqlite.org/fts5.html)."""

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

from ullage.store.search.word_index import WantedRows, WordIndex
from ullage.store.sqlite.database import reconnect, transaction
from ullage.store.sqlite.sqlite_errors import reporting, unavailable
from ullage.store.tables.connection import packed

# Pages that are merged in one transaction, which other writers wait for: some milliseconds.
_MERGED = 500


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
        """Writes rows."""
        written = ((row_id, tokens) for row_id, _, tokens in rows)
        self.executemany("INSERT INTO message_words (rowid, tokens) VALUES (?, ?)", written)

    def delete_rows(self, rows: Sequence[tuple[int, str]], /) -> None:
        """Deletes rows. The index has no text of its own, so FTS5 needs the tokens again."""
        self.executemany("INSERT INTO message_words (message_words, rowid, tokens) VALUES ('delete', ?, ?)", rows)

    def has_row(self, row_id: int, /) -> bool:
        return self.execute("SELECT 1 FROM message_words_docsize WHERE id = ?", (row_id,)).fetchone() is not None

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        """Returns the numbers of rows' tokens."""
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
        """Returns how many rows have each of the tokens."""
        return [self._count_rows(token) for token in tokens]

    def _count_rows(self, token: str) -> int:
        row = self.execute("SELECT doc FROM message_vocabulary WHERE term = ?", (token,)).fetchone()
        return row[0] if row else 0

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        return frozenset(word for word in words if self._count_rows(word))

    def words_beginning(self, beginnings: Sequence[str], limit: int, /) -> list[list[str]]:
        """Returns tokens that begin with each of these beginnings."""
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
        """Returns a transaction that reads."""
        with self._transaction("DEFERRED") as index:
            yield index

    @contextmanager
    def writing(self) -> Generator[WordIndex]:
        """Returns a transaction that writes."""
        with self._transaction("IMMEDIATE") as index:
            yield index

    def merge_all(self) -> None:
        """Merges the index into one part. Until then, FTS5 keeps deleted tokens, with a mark that they are deleted. Its
        option `secure-delete` would not, but SQLite before 3.42 can't read an index that was written with it."""
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
