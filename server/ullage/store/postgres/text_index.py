"""The index of words in PostgreSQL: rows of lexemes with a GIN index
(https://www.postgresql.org/docs/current/textsearch-indexes.html)."""

import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from ullage.store.search.word_index import WantedRows
from ullage.store.tables.session_table import Rows, packed

# A part of an expression: a token in quotes, perhaps as a beginning, or a word between tokens.
_PART = re.compile(r'"([^"]*)"( \*)?|AND|OR')
_HINT = re.compile(r" INDEXED BY \w+")
_OPERATORS = {"AND": "&", "OR": "|"}
# Rows that are taken from the server at once: they are about what a socket holds.
_CHUNK = 200
# The vocabulary counts all rows under this token, which no row has.
_ANY_TOKEN = ""
# Says to which workspace's part of the vocabulary rows belong that are written or deleted.
_RETURNING = (
    "RETURNING row_id, (SELECT coalesce(s.workspace, '') FROM sessions s WHERE s.session_id = message_words.session_id)"
)


class SharedSql:
    """A connection to PostgreSQL that understands the statements that are shared with SQLite; see `Connection`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: psycopg.Connection[TupleRow]) -> None:
        self._connection = connection

    def kept(self, value: bytes, /) -> bytes:
        """Returns a value as it is, because the server compresses long ones; see `postgres_tables.py`."""
        return packed(value, least=inf)

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        # Bytes come as they are, not as digits, which takes half the time.
        return self._connection.execute(for_postgres(statement), values or None, binary=True)

    def stream(self, statement: str, values: Sequence[Any], /) -> Generator[Any]:
        """Yields the rows of a statement while the server still sends further ones."""
        if not psycopg.capabilities.has_stream_chunked():
            yield from self.execute(statement, values)
            return
        with self._connection.cursor() as cursor:
            yield from cursor.stream(for_postgres(statement), values, binary=True, size=_CHUNK)

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

    __slots__ = ()

    def further_rows(self, count: int, /) -> int:
        """Returns the first of so many new ids in a row: of those who write to the index each waits for the others."""
        ids = "SELECT min(nextval('further_rows')) FROM generate_series(1, ?)"
        return self.execute(ids, (count,)).fetchone()[0]

    def insert_rows(self, rows: Sequence[tuple[int, int, str]], /) -> None:
        written = self.execute(
            "INSERT INTO message_words (row_id, session_id, owner, size, tokens) "
            "SELECT w.row_id, r.session_id, r.owner, cardinality(t.tokens), array_to_tsvector(t.tokens) "
            "FROM unnest(?::bigint[], ?::bigint[], ?::text[]) AS w (row_id, record_id, tokens) "
            "JOIN records r ON r.record_id = w.record_id "
            f"CROSS JOIN string_to_array(w.tokens, ' ') AS t (tokens) {_RETURNING}",
            [[*column] for column in zip(*rows, strict=True)] or ([], [], []),
        )
        self._count({row_id: tokens for row_id, _, tokens in rows}, written, 1)

    def delete_rows(self, rows: Sequence[tuple[int, str]], /) -> None:
        deleting = f"DELETE FROM message_words WHERE row_id = ANY(?) {_RETURNING}"
        self._count(dict(rows), self.execute(deleting, ([row_id for row_id, _ in rows],)), -1)
        words = [*{token for _, tokens in rows for token in tokens.split()}]
        self.execute("DELETE FROM message_vocabulary WHERE word = ANY(?) AND rows <= 0", (words,))

    def _count(self, tokens: Mapping[int, str], changed: Rows, sign: int) -> None:
        """Adds the changed rows, each with its workspace, to the numbers of rows by token, or takes them away."""
        counts: dict[str, Counter[str]] = {}
        for row_id, workspace in changed:
            counts.setdefault(workspace, Counter()).update((_ANY_TOKEN, *tokens[row_id].split()))
        for workspace, counted in counts.items():
            self.execute(
                "INSERT INTO message_vocabulary AS v (workspace, word, rows) "
                "SELECT ?, * FROM unnest(?::text[], ?::bigint[]) "
                "ON CONFLICT (word, owner, workspace) DO UPDATE SET rows = v.rows + excluded.rows",
                (workspace, [*counted], [sign * count for count in counted.values()]),
            )

    def has_row(self, row_id: int, /) -> bool:
        return self.execute("SELECT 1 FROM message_words WHERE row_id = ?", (row_id,)).fetchone() is not None

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        """Returns the numbers of rows' tokens, of all rows in one round trip."""
        lengths = "SELECT row_id, size FROM message_words WHERE row_id = ANY(?)"
        return dict(self.execute(lengths, ([*row_ids],)).fetchall())

    def rows(self) -> int:
        return self.count_rows([_ANY_TOKEN])[0]

    def last_record(self) -> int:
        """Returns the highest id of a record of any user, or 0."""
        sequence = "pg_get_serial_sequence('records', 'record_id')::regclass"
        return self.execute(f"SELECT coalesce(pg_sequence_last_value({sequence}), 0)").fetchone()[0]

    def find_rows(self, wanted: Sequence[WantedRows], /) -> list[list[int]]:
        """Returns the ids of each of the wanted rows, the newest first, all in one statement."""
        columns = zip(
            *((read_expression(one.expression), one.expected, one.first, one.last, one.limit) for one in wanted),
            strict=True,
        )
        finding = "SELECT * FROM find_rows(?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])"
        return [row_ids for (row_ids,) in self.execute(finding, [[*column] for column in columns])]

    def count_rows(self, tokens: Sequence[str], /) -> list[int]:
        counting = "SELECT word, sum(rows)::bigint FROM message_vocabulary WHERE word = ANY(?) GROUP BY word"
        known = dict(self.execute(counting, ([*tokens],)).fetchall())
        return [known.get(token, 0) for token in tokens]

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        rows = self.execute("SELECT DISTINCT word FROM message_vocabulary WHERE word = ANY(?)", ([*words],))
        return frozenset(word for (word,) in rows)

    def words_beginning(self, beginnings: Sequence[str], limit: int, /) -> list[list[str]]:
        """Returns tokens that begin with each of these beginnings, all in one statement."""
        rows = self.execute(
            "SELECT ARRAY(SELECT DISTINCT word FROM message_vocabulary "
            "WHERE word >= b.first AND word < b.stop ORDER BY word LIMIT ?) "
            "FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS b (first, stop, number) ORDER BY number",
            # The character after "z" is the next one of ASCII.
            (limit, [*beginnings], [f"{one}{{" for one in beginnings]),
        )
        return [words for (words,) in rows]

    def count_matches(self, expressions: Sequence[str], most: int, /) -> list[int]:
        """Returns how many rows match each of the expressions, `most` at most, all in one statement."""
        counting = "SELECT * FROM count_matches(?::text[], ?)"
        return [count for (count,) in self.execute(counting, ([*map(read_expression, expressions)], most))]


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
