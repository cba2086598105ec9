"""Which rows of the full-text index a search reads, and in which session each of their messages is shown."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from ullage.store.search.word_index import WordIndex
from ullage.store.tables.log import lineage

# The session in which a record is shown: its own session if that is listed, else a listed fork that inherits the
# record.
_HOLDER = """
    WITH RECURSIVE heirs (session_id, deleted) AS (
        SELECT session_id, deleted FROM sessions WHERE session_id = ?
        UNION ALL
        SELECT fork.session_id, fork.deleted FROM sessions fork JOIN heirs ON fork.parent_id = heirs.session_id
        WHERE heirs.deleted AND fork.fork_position >= ?
    )
    SELECT session_id FROM heirs WHERE NOT deleted LIMIT 1
"""
_LAST = 2**63 - 1
Holder = Callable[[str, int], str | None]


class Scope(Struct, frozen=True, kw_only=True):
    """Which rows of the index a search reads: those in the ranges `parts` of ids, the first and the last. `holder`
    returns the session in which a record of a session at a position is shown, None if there is none. `share` is about
    how much of the index these rows are, more than 0 and at most 1. `only` are the rows in the ranges that are read,
    None for all."""

    parts: tuple[tuple[int, int], ...]
    holder: Holder
    share: float = 1.0
    only: frozenset[int] | None = None

    def rows(self, connection: WordIndex, expression: str, limit: int) -> Iterator[int]:
        """Yields the ids of the rows in the scope that match an expression, at most `limit` of each part, the newest
        first."""
        for first, last in self.parts:
            rows = connection.find_rows(expression, first, last, limit if self.only is None else None)
            yield from rows if self.only is None else islice(filter(self.only.__contains__, rows), limit)


def find_scope(connection: WordIndex, session_id: str | None) -> Scope:
    """Returns the scope of a search of one session and its ancestors, or of everything if `session_id` is None."""
    return _everything(connection) if session_id is None else _one_session(connection, session_id)


def _everything(connection: WordIndex) -> Scope:
    listed: set[str] = set()

    def find(owner: str, position: int) -> str | None:
        if owner in listed:
            return owner
        row = connection.execute(_HOLDER, (owner, position)).fetchone()
        if row is not None and row[0] == owner:
            listed.add(owner)
        return None if row is None else row[0]

    return Scope(parts=((0, connection.further - 1), (connection.further, _LAST)), holder=find)


def _one_session(connection: WordIndex, session_id: str) -> Scope:
    """Returns the scope of a search in one session and its ancestors. A range of row ids keeps the search fast; the
    session of each row in the range is checked."""
    stops = {span.session_id: span.stop for span in lineage(connection, session_id)}
    ids = [
        record_id
        for owner, stop in stops.items()
        for order in ("ASC", "DESC")
        for (record_id,) in connection.execute(
            f"SELECT record_id FROM records WHERE session_id = ? AND position < ? ORDER BY position {order} LIMIT 1",
            (owner, stop),
        )
    ]
    further = connection.execute(
        "SELECT min(first_row), max(first_row + chunks) FROM message_chunks WHERE record_id >= ? AND record_id <= ?",
        (min(ids), max(ids)),
    ).fetchone()
    return Scope(
        parts=((min(ids), max(ids)), *([(further[0], further[1] - 1)] if further[0] else [])),
        holder=lambda owner, position: session_id if position < stops.get(owner, 0) else None,
        share=(max(ids) + 1 - min(ids)) / max(1, connection.last_record()),
        only=_rows_among_others(connection, stops, max(ids) + 1 - min(ids)),
    )


def _rows_among_others(connection: WordIndex, stops: Mapping[str, int], width: int) -> frozenset[int] | None:
    """Returns the rows of these sessions, each up to a position, if other sessions have records among the `width`
    ones of their range; None if not. The sessions of agents that run side by side grow in turn."""
    records = [
        record_id
        for owner, stop in stops.items()
        for (record_id,) in connection.execute(
            "SELECT record_id FROM records WHERE session_id = ? AND position < ?", (owner, stop)
        )
    ]
    if len(records) == width:
        return None
    found = frozenset(records)
    further = connection.execute(
        "SELECT record_id, first_row, chunks FROM message_chunks WHERE record_id >= ? AND record_id <= ?",
        (min(records), max(records)),
    )
    return found.union(*(range(first, first + count) for record_id, first, count in further if record_id in found))
