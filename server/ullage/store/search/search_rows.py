"""The rows of the full-text index: which chunk of which message each of them is.

The first chunk of a message has its record's id, so that rows need no table and their ids differ by little, which
makes the index small. The further chunks of long messages have ids from `WordIndex.further` on, in the order of their
indexing.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from ullage.model.events import MessageAppended
from ullage.model.message import Message
from ullage.store.search.indexed_text import chunks, message_text
from ullage.store.search.search_words import index_tokens
from ullage.store.search.vectors import drop_vectors
from ullage.store.search.word_index import WordIndex
from ullage.store.tables.codec import decode_event, storable
from ullage.store.tables.connection import marks


def read_message(payload: bytes) -> Message:
    """Returns the message in the payload of a `message_appended` record."""
    event = decode_event(payload)
    assert isinstance(event, MessageAppended)
    return event.message


def chunk_tokens(payload: bytes) -> list[str]:
    """Returns the tokens of each chunk of a message, joined by spaces, from its record's payload."""
    text = message_text(read_message(payload))
    return [" ".join(sorted(index_tokens(storable(text[start:stop])))) for start, stop in chunks(text)]


def insert_rows(connection: WordIndex, messages: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Writes rows for messages, each given as its record's id with the tokens of its chunks. The caller must hold a
    write transaction."""
    made = [*messages]
    further = {record_id: len(tokens) - 1 for record_id, tokens in made if len(tokens) > 1}
    first = connection.further_rows(sum(further.values())) if further else 0
    firsts = dict(zip(further, accumulate(further.values(), initial=first), strict=False))
    connection.executemany(
        "INSERT INTO message_chunks (first_row, record_id, chunks) VALUES (?, ?, ?)",
        [(firsts[record_id], record_id, count) for record_id, count in further.items()],
    )
    ids = {one: (one, *range(firsts.get(one, 0), firsts.get(one, 0) + further.get(one, 0))) for one, _ in made}
    connection.insert_rows(
        [
            (row_id, record_id, one)
            for record_id, tokens in made
            for row_id, one in zip(ids[record_id], tokens, strict=False)
        ]
    )


def drop_rows(connection: WordIndex, record_ids: Sequence[int]) -> None:
    """Deletes the rows and vectors of the messages in the records with these ids, which must still be there: the index
    has no text of its own, so the tokens to delete are made of the record again."""
    for record_id in record_ids:
        drop_vectors(connection, record_id)
        if not connection.has_row(record_id):
            continue
        (payload,) = connection.execute("SELECT payload FROM records WHERE record_id = ?", (record_id,)).fetchone()
        ids = rows_of(connection, record_id)
        connection.delete_rows([*zip(ids, chunk_tokens(payload), strict=True)])
        connection.execute("DELETE FROM message_chunks WHERE record_id = ?", (record_id,))


def rows_of(connection: WordIndex, record_id: int) -> list[int]:
    """Returns the ids of the rows of an indexed message, in the order of its chunks."""
    found = connection.execute(
        "SELECT first_row, chunks FROM message_chunks WHERE record_id = ?", (record_id,)
    ).fetchone()
    first, further = found or (connection.further, 0)
    return [record_id, *range(first, first + further)]


def chunks_of(connection: WordIndex, row_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Returns for each row the id of its record, and the number of the chunk in it, from 0."""
    found = {row_id: (row_id, 0) for row_id in row_ids if row_id < connection.further}
    further = [row_id for row_id in row_ids if row_id >= connection.further]
    if further:
        before = "SELECT {} FROM message_chunks c WHERE c.first_row <= w.row_id ORDER BY c.first_row DESC LIMIT 1"
        rows = connection.execute(
            f"WITH wanted (row_id) AS (VALUES {marks(further, '(?)')}) "
            f"SELECT row_id, ({before.format('record_id')}), row_id - ({before.format('first_row')}) + 1 FROM wanted w",
            further,
        )
        found |= {row_id: (record_id, chunk) for row_id, record_id, chunk in rows}
    return [found[row_id] for row_id in row_ids]
