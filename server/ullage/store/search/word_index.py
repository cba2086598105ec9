"""What the search needs of a database: an index of which rows have which tokens.

A row is a chunk of a message, see `search_rows.py`. An expression is `"token"`, `"beginning" *` for all tokens that
begin so, or several of these joined by `AND` and `OR`, with brackets: the syntax of SQLite's FTS5
(https://www.sqlite.org/fts5.html#full_text_query_syntax).
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ullage.store.tables.connection import Connection


class WordIndex(Connection, Protocol):
    """A connection to a database with an index of words, with a transaction open."""

    @property
    def further(self) -> int:
        """The first id of a row that is not the first chunk of a message. Ids of records are smaller."""
        ...

    def further_rows(self, count: int, /) -> int:
        """Returns the first of so many new ids in a row, of rows that are not the first chunk of a message."""
        ...

    def insert_rows(self, record_id: int, rows: Iterable[tuple[int, str]], /) -> None:
        """Writes the rows of the message in a record: their ids, and their tokens joined by spaces."""
        ...

    def delete_rows(self, rows: Iterable[tuple[int, str]], /) -> None:
        """Deletes rows: their ids, and the tokens with which they were written."""
        ...

    def has_row(self, row_id: int, /) -> bool:
        """Returns whether there is a row with this id."""
        ...

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        """Returns the numbers of these rows' tokens, by the rows' ids."""
        ...

    def rows(self) -> int:
        """Returns about how many rows there are."""
        ...

    def last_record(self) -> int:
        """Returns the highest id of a record, or 0."""
        ...

    def find_rows(self, expression: str, first: int, last: int, limit: int | None, /) -> list[int]:
        """Returns the ids between `first` and `last`, both included, of rows that match an expression: the newest
        `limit`, or all if it is None, the newest first."""
        ...

    def count_rows(self, token: str, /) -> int:
        """Returns about how many rows have a token."""
        ...

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        """Returns those of the words that are a token of some row."""
        ...

    def words_beginning(self, beginning: str, limit: int, /) -> list[str]:
        """Returns at most `limit` tokens that begin with these letters of ASCII, in alphabetical order. Some may be
        tokens of deleted rows alone."""
        ...

    def count_matches(self, expression: str, most: int, /) -> int:
        """Returns how many rows match an expression, `most` at most."""
        ...


class IndexTransactions(Protocol):
    """Transactions on an index of words. Any thread may begin one."""

    def reading(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction in which all reads see one state."""
        ...

    def writing(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction that writes to the index. No other one writes to it meanwhile."""
        ...
