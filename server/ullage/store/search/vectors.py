"""The table of vectors: the embeddings of chunks of messages, by the model that made them. A cache: the oldest go."""

from collections.abc import Iterable, Mapping

from ullage.service.ports.store import ChunkId
from ullage.store.tables.connection import Connection

# Vectors that a store keeps: 80 MB with 1,536 bytes each. A search needs some tens.
MOST_VECTORS = 50_000


def load_vectors(connection: Connection, model: str, chunks: Iterable[ChunkId]) -> dict[ChunkId, bytes]:
    """Returns the kept vectors of these chunks."""
    found: dict[ChunkId, bytes] = {}
    for record_id, chunk in chunks:
        row = connection.execute(
            "SELECT vector FROM vectors WHERE record_id = ? AND chunk = ? AND model = ?", (record_id, chunk, model)
        ).fetchone()
        if row is not None:
            found[record_id, chunk] = bytes(row[0])
    return found


def save_vectors(
    connection: Connection, model: str, vectors: Mapping[ChunkId, bytes], most: int = MOST_VECTORS
) -> None:
    """Keeps vectors, in place of earlier ones of the same chunks, and drops the oldest above `most`. A message that was
    deleted meanwhile gets none. The caller must hold a write transaction."""
    for (record_id, chunk), vector in vectors.items():
        connection.execute(
            "DELETE FROM vectors WHERE record_id = ? AND chunk = ? AND model = ?", (record_id, chunk, model)
        )
        connection.execute(
            "INSERT INTO vectors (record_id, chunk, model, vector) "
            "SELECT record_id, ?, ?, ? FROM records WHERE record_id = ?",
            (chunk, model, vector, record_id),
        )
    connection.execute(
        "DELETE FROM vectors WHERE vector_id <= "
        "(SELECT vector_id FROM vectors AS newest ORDER BY vector_id DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def drop_vectors(connection: Connection, record_id: int) -> None:
    """Deletes the vectors of a message."""
    connection.execute("DELETE FROM vectors WHERE record_id = ?", (record_id,))
