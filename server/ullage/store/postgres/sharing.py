"""Shares sessions with other roles of the database: which session is in which workspace, and who is a member.

A workspace is a name of its owner's. It is not made: it is there as soon as a session or a member is in it.
What members see and may do is decided by PostgreSQL, see `postgres_tables.py`.
"""

from collections.abc import Collection, Mapping

from ullage.model.errors import InvalidRequest
from ullage.store.tables.connection import Connection
from ullage.store.tables.session_table import require_session

# Adds the rows of each word, and all rows, to the vocabulary of their workspace, or with -1 takes them away.
_COUNT = """
    INSERT INTO message_vocabulary AS v (workspace, word, rows)
    SELECT coalesce(s.workspace, ''), word, ? * count(*)
    FROM sessions s JOIN message_words w ON w.session_id = s.session_id,
        unnest(tsvector_to_array(w.tokens) || ARRAY['']) AS word
    WHERE s.owner = current_user AND {} GROUP BY coalesce(s.workspace, ''), word
    ON CONFLICT (word, owner, workspace) DO UPDATE SET rows = v.rows + excluded.rows
"""


def put_into(connection: Connection, session_id: str, workspace: str | None) -> None:
    """Puts a session into a workspace of its owner's, or with None into none. Raises `InvalidRequest` if a fork would
    be shared without the session whose messages it begins with."""
    require_session(connection, session_id)
    if workspace is None:
        query = "SELECT session_id FROM sessions WHERE parent_id = ? AND workspace IS NOT NULL AND NOT deleted"
        fork = connection.execute(query, (session_id,)).fetchone()
        if fork is not None:
            raise InvalidRequest(
                f"session {fork[0]} is shared and begins with messages of {session_id}: end that first"
            )
    else:
        query = (
            "SELECT p.session_id FROM sessions s JOIN sessions p ON p.session_id = s.parent_id "
            "WHERE s.session_id = ? AND p.workspace IS DISTINCT FROM ?"
        )
        parent = connection.execute(query, (session_id, workspace)).fetchone()
        if parent is not None:
            raise InvalidRequest(f"session {session_id} begins with messages of {parent[0]}: share that one first")
    moving = "UPDATE sessions SET workspace = ? WHERE session_id = ? RETURNING indexed_position"
    counting = _COUNT.format("s.session_id = ? AND s.indexed_position >= 0")
    connection.execute(counting, (-1, session_id))
    if connection.execute(moving, (workspace, session_id)).fetchone() != (-1,):
        connection.execute(counting, (1, session_id))
        connection.execute("DELETE FROM message_vocabulary WHERE owner = current_user AND rows <= 0")


def set_members(connection: Connection, workspace: str, members: Collection[str]) -> None:
    """Shares a workspace with these roles, or groups of roles, and with no others."""
    connection.execute(
        "DELETE FROM sharing WHERE owner = current_user AND workspace = ? AND NOT member = ANY(?)",
        (workspace, [*members]),
    )
    connection.executemany(
        "INSERT INTO sharing (workspace, member) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(workspace, member) for member in members],
    )


def find_members(connection: Connection) -> Mapping[str, tuple[str, ...]]:
    """Returns the members of each of the role's own workspaces that has any."""
    rows = connection.execute(
        "SELECT workspace, array_agg(member ORDER BY member) FROM sharing WHERE owner = current_user GROUP BY workspace"
    )
    return {workspace: tuple(members) for workspace, members in rows}


def find_own(connection: Connection, workspace: str) -> tuple[str, ...]:
    """Returns the ids of the role's own sessions in a workspace. A superuser sees those of others, too, with the same
    workspace."""
    rows = connection.execute(
        "SELECT session_id FROM sessions WHERE owner = current_user AND workspace = ? AND NOT deleted", (workspace,)
    )
    return tuple(session_id for (session_id,) in rows)


def forget_words(connection: Connection) -> None:
    """Deletes those of the role's words from the vocabulary of the search that are in no session of the role's now."""
    connection.execute("DELETE FROM message_vocabulary WHERE owner = current_user")
    connection.execute(_COUNT.format("TRUE"), (1,))


def find_owner(connection: Connection, session_id: str) -> tuple[str, str | None]:
    """Returns whose a session is, and the workspace in which it is. Raises `SessionNotFound`."""
    require_session(connection, session_id)
    return connection.execute("SELECT owner, workspace FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
