"""Removes originals from an archive: whole conversations, those first that have not changed for the longest time."""

import sqlite3
from collections import defaultdict

from ullage.service.ports.originals import Pruning
from ullage.store.sqlite.database import transaction

# The conversation that an original belongs to, named by the path of its own file.
_ROOT = "iif(owner = '', path, owner)"


def plan(connection: sqlite3.Connection, before: int | None, target: int | None, size: int) -> Pruning:
    """Returns what a prune removes; see `Originals.plan_prune`. `size` is that of the archive in bytes."""
    groups = connection.execute(
        f"SELECT {_ROOT}, max(kept_at) AS newest, sum(size), count(DISTINCT original_id) "
        "FROM originals JOIN versions USING (original_id) GROUP BY 1 ORDER BY newest"
    ).fetchall()
    stored, freed_by = _freed(connection, {root: place for place, (root, *_) in enumerate(groups)})
    # What the tables and indexes add to each block.
    share = size / stored if stored else 1.0
    freed, chosen = 0.0, 0
    for place, (_, newest, _, _) in enumerate(groups):
        is_old = before is not None and newest < before
        is_needed = target is not None and size - freed > target
        if not is_old and not is_needed:
            break
        freed += freed_by[place] * share
        chosen = place + 1
    removed = groups[:chosen]
    return Pruning(
        paths=tuple(root for root, *_ in removed),
        files=sum(count for *_, count in removed),
        size=sum(raw for _, _, raw, _ in removed),
        freed=int(freed),
        newest=max((newest for _, newest, _, _ in removed), default=0),
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
    """Removes one conversation, in one transaction. Its files are noted, so that they are only kept again when they
    change."""
    mine = f"SELECT original_id FROM originals WHERE {_ROOT} = ?"
    with transaction(connection, "IMMEDIATE"):
        connection.execute(
            f"INSERT OR REPLACE INTO pruned SELECT path, stat FROM originals JOIN versions USING (original_id) "
            f"WHERE {_ROOT} = ? AND stat != '' ORDER BY version_id",
            (root,),
        )
        connection.execute(
            f"DELETE FROM runs WHERE version_id IN (SELECT version_id FROM versions WHERE original_id IN ({mine}))",
            (root,),
        )
        for table in ("versions", "sessions", "originals"):
            connection.execute(f"DELETE FROM {table} WHERE original_id IN ({mine})", (root,))


def sweep(connection: sqlite3.Connection) -> None:
    """Deletes blocks that no version refers to, and gives their room back to the disk."""
    with transaction(connection, "IMMEDIATE"):
        unused = "block_id NOT IN (SELECT block_id FROM runs)"
        connection.execute(f"DELETE FROM loose WHERE {unused}")
        connection.execute(f"DELETE FROM blocks WHERE {unused}")
        connection.execute("DELETE FROM pieces WHERE block_id NOT IN (SELECT block_id FROM blocks)")
        connection.execute("UPDATE originals SET block_id = NULL WHERE block_id NOT IN (SELECT block_id FROM blocks)")
    # A script runs a statement to its end; `execute` would end this one after its first page.
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
