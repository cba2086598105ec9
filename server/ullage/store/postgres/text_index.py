"""The index of words in PostgreSQL: rows of lexemes with a GIN index
(https://www.postgresql.org/docs/current/textsearch-indexes.html)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from msgspec import Struct
from psycopg.rows import TupleRow

from ullage.store.tables.connection import Rows

# A part of an expression: a token in quotes, perhaps as a beginning, or a word between tokens.
_PART = re.compile(r'"([^"]*)"( \*)?|AND|OR')
_HINT = re.compile(r" INDEXED BY \w+")
_SEARCH_FOR = "SELECT set_config('ullage.query', ?, true)"
_OPERATORS = {"AND": "&", "OR": "|"}
# Rows from which on a word's rows are estimated by the newest rows, instead of counted: counting takes about a
# microsecond a row. PostgreSQL's own statistics of common words may not be used with row-level security.
_MOST_COUNTED, _SAMPLE = 20_000, 1_000
# Rows from which on all rows are taken to be as many as PostgreSQL expects records of the role's.
_MOST_ROWS = 2_000


class Sight(Struct, frozen=True, kw_only=True):
    """Which rows a role sees: its own, or with `is_team` also those that others share with it. Without `is_guarded`
    row-level security doesn't apply to it, as to a superuser, and it sees all."""

    is_guarded: bool
    is_team: bool

    @property
    def rows(self) -> str:
        """The condition of its rows of the index, by which an index of the table is used."""
        return "TRUE" if self.is_team or not self.is_guarded else "owner = current_user::text"


class SharedSql:
    """A connection to PostgreSQL that understands the statements that are shared with SQLite; see `Connection`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: psycopg.Connection[TupleRow]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        """Runs a statement."""
        # Bytes come as they are, not as digits, which takes half the time.
        return self._connection.execute(for_postgres(statement), values or None, binary=True)

    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> None:
        """Runs a statement once for each sequence of values, all in one round trip."""
        # Making the values may need this connection, which is in use while psycopg sends them.
        made = list(values)
        if len(made) == 1:
            self._connection.execute(for_postgres(statement), made[0])
            return
        with self._connection.cursor() as cursor:
            cursor.executemany(for_postgres(statement), made)


class TextIndex(SharedSql):
    """A connection to PostgreSQL with the index of words; see `WordIndex`."""

    # Ids of records stay far below this.
    further = 1 << 48

    __slots__ = ("_sight",)

    def __init__(self, connection: psycopg.Connection[TupleRow], sight: Sight) -> None:
        super().__init__(connection)
        self._sight = sight

    def further_rows(self, count: int, /) -> int:
        """Returns the first of so many new ids in a row: of those who write to the index each waits for the others."""
        ids = "SELECT min(nextval('further_rows')) FROM generate_series(1, ?)"
        return self.execute(ids, (count,)).fetchone()[0]

    def insert_rows(self, record_id: int, rows: Iterable[tuple[int, str]], /) -> None:
        """Writes the rows of a message."""
        made = [(row_id, tokens.split()) for row_id, tokens in rows]
        self.executemany(
            "INSERT INTO message_words (row_id, session_id, owner, size, tokens) "
            "SELECT ?, session_id, owner, ?, array_to_tsvector(?) FROM records WHERE record_id = ?",
            [(row_id, len(tokens), tokens, record_id) for row_id, tokens in made],
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

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        """Returns the numbers of rows' tokens, of all rows in one round trip."""
        lengths = "SELECT row_id, size FROM message_words WHERE row_id = ANY(?)"
        return dict(self.execute(lengths, ([*row_ids],)).fetchall())

    def rows(self) -> int:
        """Returns about how many rows there are."""
        every = f"SELECT 1 FROM message_words WHERE {self._sight.rows} LIMIT ?"
        (counted,) = self.execute(f"SELECT count(*) FROM ({every}) AS counted", (_MOST_ROWS,)).fetchone()
        if counted < _MOST_ROWS:
            return counted
        (plan,) = self.execute("EXPLAIN (FORMAT JSON) SELECT 1 FROM records").fetchone()
        plans = json.loads(plan) if isinstance(plan, str) else plan
        return max(counted, int(plans[0]["Plan"]["Plan Rows"]))

    def last_record(self) -> int:
        """Returns the highest id of a record of any user, or 0."""
        sequence = "pg_get_serial_sequence('records', 'record_id')::regclass"
        return self.execute(f"SELECT coalesce(pg_sequence_last_value({sequence}), 0)").fetchone()[0]

    def find_rows(self, expression: str, first: int, last: int, limit: int | None, /) -> list[int]:
        """Returns the ids of rows that match an expression, the newest first."""
        rows = self._matching(
            "SELECT row_id FROM message_words WHERE {} AND row_id >= ? AND row_id <= ? ORDER BY row_id DESC LIMIT ?",
            expression,
            (first, last, limit),
        )
        return [row_id for (row_id,) in rows]

    def count_rows(self, token: str, /) -> int:
        """Returns how many rows have a token, about how many if it is a common one."""
        counted = self.count_matches(f'"{token}"', _MOST_COUNTED)
        return counted if counted < _MOST_COUNTED else max(counted, self._sampled(f'"{token}"'))

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        """Returns those of the words that are a token of some row."""
        rows = self.execute("SELECT word FROM message_vocabulary WHERE word = ANY(?)", (list(words),))
        return frozenset(word for (word,) in rows.fetchall())

    def words_beginning(self, beginning: str, limit: int, /) -> list[str]:
        """Returns tokens that begin with these letters."""
        rows = self.execute(
            "SELECT DISTINCT word FROM message_vocabulary WHERE word >= ? AND word < ? ORDER BY word LIMIT ?",
            (beginning, f"{beginning}{{", limit),
        )
        return [word for (word,) in rows.fetchall()]

    def count_matches(self, expression: str, most: int, /) -> int:
        """Returns how many rows match an expression, `most` at most."""
        counting = "SELECT count(*) FROM (SELECT 1 FROM message_words WHERE {} LIMIT ?) AS found"
        ((count,),) = self._matching(counting, expression, (most,))
        return count

    def _matching(self, statement: str, expression: str, values: Sequence[Any]) -> list[Any]:
        """Returns the rows of a statement that has `{}` for the condition that a row of the index matches, before its
        placeholders. With row-level security the policy has that condition; see `row_security.py`."""
        query = read_expression(expression)
        if not self._sight.is_guarded:
            return self.execute(statement.format("tokens @@ ?::tsquery"), (query, *values)).fetchall()
        with self._connection.pipeline():
            self.execute(_SEARCH_FOR, (query,))
            rows = self.execute(statement.format("TRUE"), values)
            self.execute(_SEARCH_FOR, ("",))
        return rows.fetchall()

    def _sampled(self, expression: str) -> int:
        """Returns how many rows match an expression if all are as the newest ones."""
        matching, seen = self.execute(
            "SELECT count(*) FILTER (WHERE tokens @@ ?::tsquery), count(*) FROM (SELECT tokens FROM message_words "
            f"WHERE {self._sight.rows} ORDER BY row_id DESC LIMIT ?) AS newest",
            (read_expression(expression), _SAMPLE),
        ).fetchone()
        return self.rows() * matching // max(1, seen)


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
