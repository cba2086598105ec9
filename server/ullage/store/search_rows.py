"""The rows of the full-text index: which chunk of which message each of them is.

The first chunk of a message has its record's id, so that rows need no table and their ids differ by little, which
makes the index small. The further chunks of long messages have ids from `FURTHER` on, in the order of their indexing.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from ullage.model.events import MessageAppended
from ullage.model.message import Message
from ullage.store.codec import decode_event, storable
from ullage.store.indexed_text import chunks, message_text
from ullage.store.search_words import index_tokens

# The first id of a further chunk. More records than this would be a store of some hundred gigabytes. A larger number
# would take another byte in each entry of the index.
FURTHER = 1 << 28


def read_message(payload: bytes) -> Message:
    """Returns the message in the payload of a `message_appended` record."""
    event = decode_event(payload)
    assert isinstance(event, MessageAppended)
    return event.message


def chunk_tokens(payload: bytes) -> list[str]:
    """Returns the tokens of each chunk of a message, joined by spaces, from its record's payload."""
    text = message_text(read_message(payload))
    return [" ".join(sorted(index_tokens(storable(text[start:stop])))) for start, stop in chunks(text)]


def insert_rows(connection: sqlite3.Connection, messages: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Writes rows for messages, each given as its record's id with the tokens of its chunks. The caller must hold a
    write transaction."""
    for record_id, tokens in messages:
        connection.executemany(
            "INSERT INTO message_words (rowid, tokens) VALUES (?, ?)",
            zip(_new_ids(connection, record_id, len(tokens)), tokens, strict=True),
        )


def drop_rows(connection: sqlite3.Connection, record_ids: Sequence[int]) -> None:
    """Deletes the rows of the messages in the records with these ids, which must still be there: the index has no text
    of its own, so the tokens to delete are made of the record again."""
    for record_id in record_ids:
        first = connection.execute("SELECT 1 FROM message_words_docsize WHERE id = ?", (record_id,)).fetchone()
        if first is None:
            continue
        (payload,) = connection.execute("SELECT payload FROM records WHERE record_id = ?", (record_id,)).fetchone()
        ids = rows_of(connection, record_id)
        connection.executemany(
            "INSERT INTO message_words (message_words, rowid, tokens) VALUES ('delete', ?, ?)",
            zip(ids, chunk_tokens(payload), strict=True),
        )
        connection.execute("DELETE FROM message_chunks WHERE record_id = ?", (record_id,))


def rows_of(connection: sqlite3.Connection, record_id: int) -> list[int]:
    """Returns the ids of the rows of an indexed message, in the order of its chunks."""
    found = connection.execute(
        "SELECT first_row, chunks FROM message_chunks WHERE record_id = ?", (record_id,)
    ).fetchone()
    first, further = found or (FURTHER, 0)
    return [record_id, *range(first, first + further)]


def chunk_of(connection: sqlite3.Connection, row_id: int) -> tuple[int, int]:
    """Returns the id of the record of a row, and the number of the chunk in it, from 0."""
    if row_id < FURTHER:
        return row_id, 0
    first, record_id = connection.execute(
        "SELECT first_row, record_id FROM message_chunks WHERE first_row <= ? ORDER BY first_row DESC LIMIT 1",
        (row_id,),
    ).fetchone()
    return record_id, row_id - first + 1


def row_length(connection: sqlite3.Connection, row_id: int) -> int:
    """Returns the number of a row's tokens."""
    (size,) = connection.execute("SELECT sz FROM message_words_docsize WHERE id = ?", (row_id,)).fetchone()
    length = 0
    for byte in size:
        # FTS5 writes seven bits of the number in each byte, the high ones first.
        length = length << 7 | byte & 127
    return length


def _new_ids(connection: sqlite3.Connection, record_id: int, count: int) -> Iterator[int]:
    if count:
        yield record_id
    if count > 1:
        (first,) = connection.execute(
            "SELECT first_row + chunks FROM message_chunks ORDER BY first_row DESC LIMIT 1"
        ).fetchone() or (FURTHER,)
        connection.execute("INSERT INTO message_chunks VALUES (?, ?, ?)", (first, record_id, count - 1))
        yield from range(first, first + count - 1)
