"""What the search needs of a database: an index of which rows have which tokens.

A row is a chunk of a message, see `search_rows.py`. What a search asks for several times, it asks for together, because
each statement that goes to a server takes time. An expression is `"token"`, `"beginning" *` for all tokens that begin
so, or several of these joined by `AND` and `OR`, with brackets: the syntax of SQLite's FTS5
(https://www.sqlite.org/fts5.html#full_text_query_syntax).
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from ullage.store.tables.connection import Connection


class WantedRows(Struct, frozen=True):
    """Rows that match an expression, with ids from `first` to `last`, both included: the newest `limit`, or all if it
    is None. About `expected` rows match the expression."""

    expression: str
    first: int
    last: int
    limit: int | None
    expected: int


class WordIndex(Connection, Protocol):
    """A connection to a database with an index of words, with a transaction open."""

    @property
    def further(self) -> int:
        """The first id of a row that is not the first chunk of a message. Ids of records are smaller."""
        ...

    def further_rows(self, count: int, /) -> int:
        """Returns the first of so many new ids in a row, of rows that are not the first chunk of a message."""
        ...

    def insert_rows(self, rows: Sequence[tuple[int, int, str]], /) -> None:
        """Writes rows: their ids, the ids of the records whose messages they are of, and their tokens joined by
        spaces."""
        ...

    def delete_rows(self, rows: Sequence[tuple[int, str]], /) -> None:
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

    def find_rows(self, wanted: Sequence[WantedRows], /) -> list[list[int]]:
        """Returns the ids of each of the wanted rows, the newest first."""
        ...

    def count_rows(self, tokens: Sequence[str], /) -> list[int]:
        """Returns about how many rows have each of the tokens."""
        ...

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        """Returns those of the words that are a token of some row."""
        ...

    def words_beginning(self, beginnings: Sequence[str], limit: int, /) -> list[list[str]]:
        """Returns for each beginning, letters of ASCII, at most `limit` tokens that begin so, in alphabetical order.
        Some may be tokens of deleted rows alone."""
        ...

    def count_matches(self, expressions: Sequence[str], most: int, /) -> list[int]:
        """Returns how many rows match each of the expressions, `most` at most."""
        ...


class IndexTransactions(Protocol):
    """Transactions on an index of words. Any thread may begin one."""

    def reading(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction in which all reads see one state."""
        ...

    def writing(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction that writes to the index. No other one writes to it meanwhile."""
        ...
