"""The index of words in PostgreSQL: rows of lexemes with a GIN index
(https://www.postgresql.org/docs/current/textsearch-indexes.html)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from ullage.store.tables.connection import Rows

# A part of an expression: a token in quotes, perhaps as a beginning, or a word between tokens.
_PART = re.compile(r'"([^"]*)"( \*)?|AND|OR')
_HINT = re.compile(r" INDEXED BY \w+")
_OPERATORS = {"AND": "&", "OR": "|"}
# Rows from which on a word's rows are estimated from the statistics that PostgreSQL keeps of common words, instead of
# counted: counting takes about a microsecond a row.
_MOST_COUNTED = 20_000


class TextIndex:
    """A connection to PostgreSQL with the index of words; see `WordIndex`."""

    # Ids of records stay far below this.
    further = 1 << 48

    __slots__ = ("_connection",)

    def __init__(self, connection: psycopg.Connection[TupleRow]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        """Runs a statement."""
        return self._connection.execute(for_postgres(statement), values or None)

    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> None:
        """Runs a statement once for each sequence of values, all in one round trip."""
        # Making the values may need this connection, which is in use while psycopg sends them.
        made = list(values)
        if len(made) == 1:
            self._connection.execute(for_postgres(statement), made[0])
            return
        with self._connection.cursor() as cursor:
            cursor.executemany(for_postgres(statement), made)

    def insert_rows(self, rows: Iterable[tuple[int, str]], /) -> None:
        """Writes rows."""
        made = [(row_id, tokens.split()) for row_id, tokens in rows]
        self.executemany(
            "INSERT INTO message_words (row_id, size, tokens) VALUES (?, ?, array_to_tsvector(?))",
            [(row_id, len(tokens), tokens) for row_id, tokens in made],
        )
        words = {word for _, tokens in made for word in tokens if word.isascii() and word.isalpha()}
        self.execute(
            "INSERT INTO message_vocabulary (word) SELECT unnest(?::text[]) ON CONFLICT DO NOTHING", (sorted(words),)
        )

    def delete_rows(self, rows: Iterable[tuple[int, str]], /) -> None:
        """Deletes rows."""
        self.execute("DELETE FROM message_words WHERE row_id = ANY(?)", ([row_id for row_id, _ in rows],))

    def has_row(self, row_id: int, /) -> bool:
        """Returns whether there is a row with this id."""
        return self.execute("SELECT 1 FROM message_words WHERE row_id = ?", (row_id,)).fetchone() is not None

    def row_length(self, row_id: int, /) -> int:
        """Returns the number of a row's tokens."""
        return self.execute("SELECT size FROM message_words WHERE row_id = ?", (row_id,)).fetchone()[0]

    def last_row(self) -> int:
        """Returns the highest id of a first chunk's row, or 0."""
        (last,) = self.execute("SELECT max(row_id) FROM message_words WHERE row_id < ?", (self.further,)).fetchone()
        return last or 0

    def find_rows(self, expression: str, first: int, last: int, limit: int | None, /) -> list[int]:
        """Returns the ids of rows that match an expression, the newest first."""
        rows = self.execute(
            "SELECT row_id FROM message_words WHERE tokens @@ ?::tsquery AND row_id >= ? AND row_id <= ? "
            "ORDER BY row_id DESC LIMIT ?",
            (read_expression(expression), first, last, limit),
        )
        return [row_id for (row_id,) in rows.fetchall()]

    def count_rows(self, token: str, /) -> int:
        """Returns how many rows have a token, about how many if it is a common one."""
        counted = self.count_matches(f'"{token}"', _MOST_COUNTED)
        return counted if counted < _MOST_COUNTED else max(counted, self._estimate(f'"{token}"'))

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        """Returns those of the words that are a token of some row."""
        rows = self.execute("SELECT word FROM message_vocabulary WHERE word = ANY(?)", (list(words),))
        return frozenset(word for (word,) in rows.fetchall())

    def words_beginning(self, beginning: str, limit: int, /) -> list[str]:
        """Returns tokens that begin with these letters."""
        rows = self.execute(
            "SELECT word FROM message_vocabulary WHERE word >= ? AND word < ? ORDER BY word LIMIT ?",
            (beginning, f"{beginning}{{", limit),
        )
        return [word for (word,) in rows.fetchall()]

    def count_matches(self, expression: str, most: int, /) -> int:
        """Returns how many rows match an expression, `most` at most."""
        counting = "SELECT count(*) FROM (SELECT 1 FROM message_words WHERE tokens @@ ?::tsquery LIMIT ?) AS found"
        return self.execute(counting, (read_expression(expression), most)).fetchone()[0]

    def _estimate(self, expression: str) -> int:
        """Returns how many rows PostgreSQL expects to match an expression."""
        (plan,) = self.execute(
            "EXPLAIN (FORMAT JSON) SELECT 1 FROM message_words WHERE tokens @@ ?::tsquery",
            (read_expression(expression),),
        ).fetchone()
        plans = json.loads(plan) if isinstance(plan, str) else plan
        return int(plans[0]["Plan"]["Plan Rows"])


@lru_cache(maxsize=256)
def for_postgres(statement: str) -> bytes:
    """Returns a statement with psycopg's placeholders (`%s`) and without SQLite's index hints. PostgreSQL chooses its
    indexes by its own statistics. The statement must not contain `?` or `%` elsewhere. Results are cached."""
    return _HINT.sub("", statement).replace("?", "%s").encode()


def read_expression(expression: str) -> str:
    """Returns an expression of the index (`WordIndex`) as PostgreSQL's `tsquery`
    (https://www.postgresql.org/docs/current/datatype-textsearch.html#DATATYPE-TSQUERY)."""

    def part(match: re.Match[str]) -> str:
        token, beginning = match[1], match[2]
        if token is None:
            return _OPERATORS[match[0]]
        quoted = token.replace("\\", "\\\\").replace("'", "''")
        return f"'{quoted}'" + (":*" if beginning else "")

    return _PART.sub(part, expression)
