"""Lists the conversations of an archive, and removes some of them with all that only they have in its blocks."""

import sqlite3
from collections import defaultdict

from ullage.service.ports.agent_files import KeptConversation
from ullage.store.originals.packed_blocks import Blocks
from ullage.store.sqlite.database import transaction

# The conversation that an original belongs to, named by the path of its own file.
_ROOT = "iif(owner = '', path, owner)"


def list_conversations(connection: sqlite3.Connection, size: int) -> tuple[KeptConversation, ...]:
    """Returns all conversations; see `Originals.conversations`. `size` is that of the archive in bytes."""
    groups = connection.execute(
        f"SELECT {_ROOT}, max(agent), max(iif(owner = '', origin_id, '')), count(DISTINCT original_id), sum(size), "
        "max(kept_at) AS newest FROM originals JOIN versions USING (original_id) GROUP BY 1 ORDER BY newest"
    ).fetchall()
    sessions: dict[str, list[str]] = defaultdict(list)
    for session_id, root in connection.execute(
        f"SELECT session_id, {_ROOT} FROM sessions JOIN originals USING (original_id)"
    ):
        sessions[root].append(session_id)
    stored, freed = _freed(connection, {root: place for place, (root, *_) in enumerate(groups)})
    # What the tables and indexes add to each block.
    share = size / stored if stored else 1.0
    return tuple(
        KeptConversation(
            path=root,
            agent=agent,
            origin_id=origin_id,
            session_ids=tuple(sessions[root]),
            files=files,
            size=raw,
            kept_at=kept_at,
            frees=int(freed[place] * share),
        )
        for place, (root, agent, origin_id, files, raw, kept_at) in enumerate(groups)
    )


def _freed(connection: sqlite3.Connection, places: dict[str, int]) -> tuple[int, dict[int, int]]:
    """Returns the bytes of all blocks, and those that each conversation frees if the conversations are removed in this
    order: a block is freed with the last one that refers to it."""
    last: dict[int, int] = defaultdict(int)
    rows = connection.execute(
        f"SELECT DISTINCT runs.block_id, {_ROOT} FROM runs JOIN versions USING (version_id) "
        "JOIN originals USING (original_id)"
    )
    for block_id, root in rows:
        last[block_id] = max(last[block_id], places[root])
    freed: dict[int, int] = defaultdict(int)
    total = 0
    for block_id, size in connection.execute("SELECT block_id, coalesce(length(data), size) FROM blocks"):
        total += size
        if block_id in last:
            freed[last[block_id]] += size
    return total, freed


def remove(connection: sqlite3.Connection, root: str) -> None:
    """Removes one conversation, in one transaction."""
    mine = f"SELECT original_id FROM originals WHERE {_ROOT} = ?"
    with transaction(connection, "IMMEDIATE"):
        connection.execute(
            f"DELETE FROM runs WHERE version_id IN (SELECT version_id FROM versions WHERE original_id IN ({mine}))",
            (root,),
        )
        for table in ("versions", "sessions", "originals"):
            connection.execute(f"DELETE FROM {table} WHERE original_id IN ({mine})", (root,))


def sweep(connection: sqlite3.Connection, blocks: Blocks) -> None:
    """Deletes blocks that no version refers to, overwrites the parts of the others that no version refers to, and gives
    the room back to the disk."""
    with transaction(connection, "IMMEDIATE"):
        unused = "block_id NOT IN (SELECT block_id FROM runs)"
        connection.execute(f"DELETE FROM loose WHERE {unused}")
        connection.execute(f"DELETE FROM blocks WHERE {unused}")
        connection.execute("DELETE FROM pieces WHERE block_id NOT IN (SELECT block_id FROM blocks)")
        connection.execute("UPDATE originals SET block_id = NULL WHERE block_id NOT IN (SELECT block_id FROM blocks)")
    # Blocks of conversations that were removed, which a fork of these still needs.
    shared = connection.execute(
        "SELECT block_id FROM blocks WHERE original_id NOT IN (SELECT original_id FROM originals)"
    )
    for (block_id,) in shared.fetchall():
        with transaction(connection, "IMMEDIATE"):
            used = connection.execute("SELECT start, length FROM runs WHERE block_id = ? ORDER BY start", (block_id,))
            for start, end in blocks.keep_only(block_id, used.fetchall()):
                connection.execute(
                    "DELETE FROM pieces WHERE block_id = ? AND start >= ? AND start < ?", (block_id, start, end)
                )
    # A script runs a statement to its end; `execute` would end this one after its first page.
    connection.executescript("PRAGMA incremental_vacuum")
