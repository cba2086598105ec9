"""The rows that the bench of PostgreSQL's search copies are those that the store would have written."""

import psycopg
import pytest

from benches.search import copy_rows
from support.logs import message, records
from support.postgres_server import PostgresServer, needs_postgres
from ullage.model.events import SessionCreated
from ullage.store.postgres.postgres_store import open_postgres

# Long enough for several chunks.
TEXTS = ("a walnut", "a pear\n" * 1_000, "a walnut and a pear")


@needs_postgres
@pytest.mark.parametrize("steps", [(4,), (2, 4)])
def test_copied_rows_are_those_of_a_store_in_which_all_was_written(
    postgres_server: PostgresServer, steps: tuple[int, ...]
) -> None:
    copied, written = (postgres_server.new_schema() for _ in range(2))
    with open_postgres(copied) as store:
        store.create("s", records(SessionCreated(), *(message(f"m{at}", text) for at, text in enumerate(TEXTS))))
        store.search("walnut")
        with psycopg.connect(postgres_server.address(copied.rpartition("%3D")[2]), autocommit=True) as bare:
            for before, wanted in zip((1, *steps), steps, strict=False):
                copy_rows(bare, before, wanted)
        assert store.index_some() == 0
        # The store continues with further ids.
        store.create("last", records(SessionCreated(), *(message(f"m{at}", text) for at, text in enumerate(TEXTS))))
        hits = store.search("walnut pear", limit=30)
        rows = rows_of(copied)
    with open_postgres(written) as store:
        for session in ("s", "s-1", "s-2", "s-3", "last"):
            texts = (message(f"m{at}", text) for at, text in enumerate(TEXTS))
            store.create(session, records(SessionCreated(), *texts))
            store.search("walnut")
        assert store.search("walnut pear", limit=30) == hits
        assert rows_of(written) == rows


def rows_of(address: str) -> list[object]:
    statements = (
        "SELECT row_id, session_id, size, tokens FROM message_words ORDER BY row_id",
        "SELECT first_row, record_id, chunks FROM message_chunks ORDER BY first_row",
        "SELECT record_id, session_id, position, payload FROM records ORDER BY record_id",
        "SELECT word, rows FROM message_vocabulary ORDER BY word",
    )
    with psycopg.connect(address) as connection:
        return [connection.execute(statement.encode()).fetchall() for statement in statements]
