"""The table of vectors: the embeddings of chunks of messages, by the model that made them. A cache: the oldest go."""

from collections.abc import Iterable, Mapping

from ullage.service.ports.store import ChunkId
from ullage.store.tables.connection import Connection, marks

# Vectors that a store keeps: 80 MB with 1,536 bytes each. A search needs some tens.
MOST_VECTORS = 50_000


def load_vectors(connection: Connection, model: str, chunks: Iterable[ChunkId]) -> dict[ChunkId, bytes]:
    """Returns the kept vectors of these chunks."""
    wanted = [*chunks]
    if not wanted:
        return {}
    rows = connection.execute(
        f"WITH wanted (record_id, chunk) AS (VALUES {marks(wanted, '(?, ?)')}) "
        "SELECT v.record_id, v.chunk, v.vector FROM wanted w JOIN vectors v "
        "ON v.record_id = w.record_id AND v.chunk = w.chunk AND v.model = ?",
        [*(value for one in wanted for value in one), model],
    )
    return {(record_id, chunk): bytes(vector) for record_id, chunk, vector in rows}


def save_vectors(
    connection: Connection, model: str, vectors: Mapping[ChunkId, bytes], most: int = MOST_VECTORS
) -> None:
    """Keeps vectors, in place of earlier ones of the same chunks, and drops the oldest above `most`. A message that was
    deleted meanwhile gets none. The caller must hold a write transaction."""
    connection.executemany(
        "DELETE FROM vectors WHERE record_id = ? AND chunk = ? AND model = ?", [(*one, model) for one in vectors]
    )
    connection.executemany(
        "INSERT INTO vectors (record_id, chunk, model, vector) "
        "SELECT record_id, ?, ?, ? FROM records WHERE record_id = ?",
        [(chunk, model, vector, record_id) for (record_id, chunk), vector in vectors.items()],
    )
    connection.execute(
        "DELETE FROM vectors WHERE vector_id <= "
        "(SELECT vector_id FROM vectors AS newest ORDER BY vector_id DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def drop_vectors(connection: Connection, record_id: int) -> None:
    """Deletes the vectors of a message."""
    connection.execute("DELETE FROM vectors WHERE record_id = ?", (record_id,))
