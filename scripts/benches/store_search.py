"""Measures the search in PostgreSQL: among 5,000 messages, and with `--long` among 100,000 and a million.

The messages are recorded ones. The first ones are stored and indexed as always; all further ones are the same again in
further sessions, as rows that the database copies, because making their words would take hours. So each rare word is in
as many messages as there are copies, which is more work than in an archive of a million messages of its own.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from benches.report import percentile, recorded
from benches.search_large import fill
from benches.search_questions import conversation, make_questions
from support.postgres_server import PostgresServer
from ullage.model.message import Message
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres
from ullage.store.postgres.text_index import TextIndex, read_expression
from ullage.store.search.indexed_text import stem

SHORT, LONG, LONG_COPIES = 5_000, 20_000, (5, 50)
_QUESTIONS = 60

# Ids are those that the store would have given: of records in the order of writing, and of further chunks after them.
_COPY = (
    "DROP INDEX words_of_rows",
    "INSERT INTO sessions (session_id, created_at, title, cwd, model, indexed_position, owner) "
    "SELECT session_id || '-' || k, created_at, title, cwd, model, indexed_position, owner "
    "FROM generate_series({first}, {last}) k, sessions WHERE session_id !~ '-' ORDER BY k, rowid",
    "INSERT INTO records (record_id, session_id, position, timestamp, event, messages, message_id, payload, owner) "
    "OVERRIDING SYSTEM VALUE SELECT record_id + k * {records}, session_id || '-' || k, position, timestamp, event, "
    "messages, message_id, payload, owner "
    "FROM generate_series({first}, {last}) k, records WHERE record_id <= {records} ORDER BY k, record_id",
    "INSERT INTO message_words (row_id, size, tokens, owner, session_id) "
    "SELECT row_id + k * CASE WHEN row_id < {further} THEN {records} ELSE {chunks} END, size, tokens, owner, "
    "session_id || '-' || k FROM generate_series({first}, {last}) k, message_words "
    "WHERE session_id !~ '-' ORDER BY k, row_id",
    "INSERT INTO message_chunks (first_row, record_id, chunks, owner) "
    "SELECT first_row + k * {chunks}, record_id + k * {records}, chunks, owner "
    "FROM generate_series({first}, {last}) k, message_chunks WHERE record_id <= {records} ORDER BY k, first_row",
    "UPDATE message_vocabulary SET rows = rows / {first} * ({last} + 1)",
    "SELECT setval(pg_get_serial_sequence('records', 'record_id'), {records} * ({last} + 1))",
    "SELECT setval('further_rows', greatest({further}, {further} - 1 + {chunks} * ({last} + 1)), {chunks} > 0)",
    "CREATE INDEX words_of_rows ON message_words USING gin (tokens)",
)


def measure(server: PostgresServer, paths: Sequence[Path], *, is_long: bool) -> Iterator[dict[str, Any]]:
    """Yields a row for each number of messages."""
    recordings = [found for _, transcript in recorded(paths) if (found := conversation(transcript))]
    questions = [question.text for found in recordings for question in make_questions(found)]
    questions = questions[:: max(1, len(questions) // _QUESTIONS)]
    yield from _measure_copies(server, recordings, questions, SHORT, ())
    if is_long:
        yield from _measure_copies(server, recordings, questions, LONG, LONG_COPIES)


def _measure_copies(
    server: PostgresServer,
    recordings: Sequence[Sequence[Message]],
    questions: Sequence[str],
    messages: int,
    copies: Sequence[int],
) -> Iterator[dict[str, Any]]:
    address = server.new_schema()
    schema = address.rpartition("%3D")[2]
    with open_postgres(address) as store, psycopg.connect(server.address(schema), autocommit=True) as bare:
        sum(fill(store, recordings, messages))
        while store.index_some():
            pass
        written = 1
        for wanted in copies or (1,):
            copy_rows(bare, written, wanted)
            written = wanted
            bare.execute("VACUUM ANALYZE")
            yield _searched(store, bare, questions, messages * wanted)


def copy_rows(bare: psycopg.Connection[Any], written: int, wanted: int) -> None:
    """Copies a store's rows until they are there `wanted` times, of which `written` are there. The connection must see
    all rows, and ids of sessions must have no `-` but for the copies'."""
    if wanted <= written:
        return
    rows = bare.execute(
        "SELECT (SELECT max(record_id) FROM records) / %s, coalesce(sum(chunks), 0) / %s FROM message_chunks",
        (written, written),
    ).fetchone()
    assert rows is not None
    values = {"first": written, "last": wanted - 1, "records": rows[0], "chunks": int(rows[1])}
    with bare.transaction():
        for statement in _COPY:
            bare.execute(statement.format(further=TextIndex.further, **values).encode())


def _searched(
    store: PostgresStore, bare: psycopg.Connection[Any], questions: Sequence[str], messages: int
) -> dict[str, Any]:
    """The floor is one bare query for the same words, ranked by PostgreSQL itself, and the search and the floor take
    turns."""

    def rank(question: str) -> object:
        words = " OR ".join(f'"{stem(word)}"' for word in question.lower().split() if word.isalpha())
        return bare.execute(
            "SELECT row_id FROM message_words, CAST(%s AS tsquery) AS query WHERE tokens @@ query "
            "ORDER BY ts_rank(tokens, query) DESC LIMIT 10",
            (read_expression(words or '"a"'),),
        ).fetchall()

    floor, ours = _in_turns(questions, rank, store.find_passages)
    row: dict[str, Any] = {"search among messages, floor: ranked by ts_rank": f"{messages:,}"}
    for share in (0.5, 0.95):
        mine, theirs = percentile(ours, share), percentile(floor, share)
        name = f"p{100 * share:.0f}"
        row |= {f"{name} floor_ms": 1000 * theirs, f"{name} ours_ms": 1000 * mine, f"{name} ratio": mine / theirs}
    return row


def _in_turns(
    questions: Sequence[str], floor: Callable[[str], object], ours: Callable[[str], object]
) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for question in questions:
        for work, into in zip((floor, ours), times, strict=True):
            into.append(seconds(lambda work=work, question=question: work(question)))
    return times


def seconds(work: Callable[[], object]) -> float:
    """Returns the seconds that the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
