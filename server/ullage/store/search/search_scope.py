"""Which rows of the full-text index a search reads, and in which session each of their messages is shown."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from ullage.store.search.word_index import WantedRows, WordIndex
from ullage.store.tables.connection import marks
from ullage.store.tables.log import lineage

_LAST = 2**63 - 1
# The sessions in which the records of others are shown up to the position `reach`: their own session if that is listed,
# else a listed fork that inherits them.
_HEIRS = """
    WITH RECURSIVE heirs (owner, session_id, deleted, reach) AS (
        SELECT session_id, session_id, deleted, CAST(? AS BIGINT) FROM sessions WHERE session_id IN ({})
        UNION ALL
        SELECT heirs.owner, fork.session_id, fork.deleted,
            CASE WHEN fork.fork_position < heirs.reach THEN fork.fork_position ELSE heirs.reach END
        FROM sessions fork JOIN heirs ON fork.parent_id = heirs.session_id
        WHERE heirs.deleted
    )
    SELECT owner, session_id, reach FROM heirs WHERE NOT deleted
"""
# Returns the session in which a record of a session at a position is shown, None if there is none.
Holder = Callable[[str, int], str | None]


class Scope(Struct, frozen=True, kw_only=True):
    """Which rows of the index a search reads: those in the ranges `parts` of ids, the first and the last. `stops` are
    the sessions that are searched, with the positions at which each ends, None for all sessions; `session_id` is the
    one in which their records are shown then. `share` is about how much of the index these rows are, more than 0 and at
    most 1. `only` are the rows in the ranges that are read, None for all."""

    parts: tuple[tuple[int, int], ...]
    session_id: str | None = None
    stops: Mapping[str, int] | None = None
    share: float = 1.0
    only: frozenset[int] | None = None

    def rows(self, connection: WordIndex, expressions: Sequence[tuple[str, int]], limit: int) -> list[list[int]]:
        """Returns the ids of the rows in the scope that match each of the expressions, which are given with about how
        many rows match them: at most `limit` of each part, the newest first."""
        asked = [
            WantedRows(expression, first, last, limit if self.only is None else None, expected)
            for expression, expected in expressions
            for first, last in self.parts
        ]
        found = iter(connection.find_rows(asked))
        return [
            [row_id for _ in self.parts for row_id in islice(filter(self._has, next(found)), limit)]
            for _ in expressions
        ]

    def holder(self, connection: WordIndex, owners: Collection[str]) -> Holder:
        """Returns where the records of these sessions are shown."""
        stops, shown_in = self.stops, self.session_id
        if stops is not None:
            return lambda owner, position: shown_in if position < stops.get(owner, 0) else None
        heirs: dict[str, list[tuple[str, int]]] = {}
        if owners:
            for owner, session_id, reach in connection.execute(_HEIRS.format(marks(owners)), (_LAST, *owners)):
                heirs.setdefault(owner, []).append((session_id, reach))
        return lambda owner, position: next(
            (session_id for session_id, reach in heirs.get(owner, ()) if position <= reach), None
        )

    def _has(self, row_id: int) -> bool:
        return self.only is None or row_id in self.only


def find_scope(connection: WordIndex, session_id: str | None) -> Scope:
    """Returns the scope of a search of one session and its ancestors, or of everything if `session_id` is None."""
    return _everything(connection) if session_id is None else _one_session(connection, session_id)


def _everything(connection: WordIndex) -> Scope:
    return Scope(parts=((0, connection.further - 1), (connection.further, _LAST)))


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
        session_id=session_id,
        stops=stops,
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
