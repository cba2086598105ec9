"""Fills the full-text index from the log, in steps, so that appending costs nothing for it."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.events import MessageAppended
from ullage.store.search.search_rows import chunk_tokens, insert_rows
from ullage.store.search.word_index import IndexTransactions, WordIndex
from ullage.store.tables.codec import event_name
from ullage.store.tables.log import lineage

# Bytes of records that one step indexes. Making words of them takes some tens of milliseconds, outside of the
# transaction; writing takes a few, so that no append waits long.
STEP_BYTES = 200_000
_MESSAGE = event_name(MessageAppended)

# The last record of a session that is indexed: a fork's inherited ones are indexed with its parent.
_SEEN = "CASE WHEN indexed_position < fork_position THEN fork_position ELSE indexed_position END"

# A record's id, and the tokens of each chunk of its message.
_Tokens = tuple[int, Sequence[str]]


class _Pending(Struct, frozen=True):
    """A session of whose own records the `left` ones after `position` are not indexed yet."""

    session_id: str
    position: int
    left: int


class _Part(Struct, frozen=True):
    """The messages of a session's pending records up to and including `position`, as they are indexed, and the bytes of
    these records."""

    pending: _Pending
    position: int
    messages: Sequence[_Tokens]
    size: int


def index_some(transactions: IndexTransactions, session_id: str | None) -> int:
    """Indexes some of the records that a search of the session, or of all sessions if it is None, would read. Returns
    the number of records left, 0 once the index is complete."""
    with transactions.reading() as connection:
        parts = _read_step(connection, _pending(connection, session_id))
    if not parts:
        return 0
    with transactions.writing() as connection:
        for part in parts:
            _write_part(connection, part)
        return sum(session.left for session in _pending(connection, session_id))


def _pending(connection: WordIndex, session_id: str | None) -> list[_Pending]:
    """Returns the sessions with records that are not indexed, of all sessions or of one and its ancestors. An inherited
    record is indexed with the session that it was written in."""
    rows = connection.execute(
        "SELECT session_id, seen, newest FROM ("
        f"    SELECT session_id, {_SEEN} AS seen,"
        "        (SELECT max(position) FROM records WHERE session_id = s.session_id) AS newest FROM sessions s"
        ") AS found WHERE seen < newest"
    )
    sessions = [_Pending(owner, seen, last - seen) for owner, seen, last in rows]
    if session_id is None:
        return sessions
    wanted = {span.session_id for span in lineage(connection, session_id)}
    return [session for session in sessions if session.session_id in wanted]


def _read_step(connection: WordIndex, pending: Sequence[_Pending]) -> Sequence[_Part]:
    """Returns what one step indexes: of as many sessions as have about `STEP_BYTES`. Looking for pending sessions takes
    as long as there are sessions, so a step for each of many small ones would take longer and longer."""
    parts: list[_Part] = []
    room = STEP_BYTES
    for session in pending:
        if room <= 0:
            break
        parts.append(_read_part(connection, session, room))
        room -= parts[-1].size
    return parts


def _read_part(connection: WordIndex, pending: _Pending, room: int) -> _Part:
    records = connection.execute(
        "SELECT record_id, position, event, payload FROM records WHERE session_id = ? AND position > ? "
        "ORDER BY position",
        (pending.session_id, pending.position),
    )
    messages: list[_Tokens] = []
    seen, reached = 0, pending.position
    for record_id, position, event, payload in records:
        reached = position
        seen += len(payload)
        if event == _MESSAGE:
            messages.append((record_id, chunk_tokens(payload)))
        if seen >= room:
            break
    return _Part(pending, reached, messages, seen)


def _write_part(connection: WordIndex, part: _Part) -> None:
    taken = connection.execute(
        # Another process may have done the same step in the meantime, or deleted the session.
        f"UPDATE sessions SET indexed_position = ? WHERE session_id = ? AND {_SEEN} = ?",
        (part.position, part.pending.session_id, part.pending.position),
    )
    if taken.rowcount:
        insert_rows(connection, part.messages)
