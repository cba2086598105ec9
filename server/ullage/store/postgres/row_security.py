"""Whose rows are whose. The owner of a row is the database's role that wrote it, and PostgreSQL's row-level security
(https://www.postgresql.org/docs/current/ddl-rowsecurity.html) shows it to no other role, not even the tables' owner.

An owner may put sessions into a *workspace* of theirs and share it with members, each a role or a group of roles. A
member reads these sessions on a connection on which `ullage.team` is `on`, and never changes them: without it also a
member's own list and search have nothing of others in them.
"""

# Tables that hold a session's rows, by its id.
_OF_SESSIONS = ("records", "snapshots", "message_words")
_OWNED = ("sessions", *_OF_SESSIONS, "message_chunks", "message_vocabulary", "vectors", "calibrations")
_MINE = "owner = current_user::text"
_TEAM = "coalesce(current_setting('ullage.team', true), '') = 'on'"

# What a role reads of others. Functions, because in a policy the planner would plan these tables, with their policies,
# again for each use of each table; with bodies of SQL's own form, which PostgreSQL reads here and once: no search path
# or temporary table puts another table in their place.
_FUNCTIONS = (
    f"""
    CREATE FUNCTION is_shared(by_owner TEXT, in_workspace TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE COST 1 BEGIN ATOMIC
        SELECT in_workspace IS NOT NULL AND {_TEAM}
            AND EXISTS (SELECT 1 FROM sharing h WHERE h.owner = by_owner AND h.workspace = in_workspace);
    END
    """,
    f"""
    CREATE FUNCTION is_shared_session(id TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE COST 1 BEGIN ATOMIC
        SELECT {_TEAM} AND EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = id AND s.workspace IS NOT NULL);
    END
    """,
    f"""
    CREATE FUNCTION is_shared_record(id BIGINT) RETURNS BOOLEAN LANGUAGE sql STABLE COST 1 BEGIN ATOMIC
        SELECT {_TEAM} AND EXISTS (SELECT 1 FROM records r WHERE r.record_id = id);
    END
    """,
    f"""
    CREATE FUNCTION shared_sessions() RETURNS SETOF TEXT LANGUAGE sql STABLE ROWS 100 BEGIN ATOMIC
        SELECT s.session_id FROM sessions s WHERE {_TEAM} AND s.workspace IS NOT NULL;
    END
    """,
)
# A search looks at many rows, so it asks once for all sessions.
_SHARED = {
    "sessions": "is_shared(owner, workspace)",
    "records": "is_shared_session(session_id)",
    "snapshots": "is_shared_session(session_id)",
    "message_words": "session_id IN (SELECT shared_sessions())",
    "message_chunks": "is_shared_record(record_id)",
}
# A policy's own conditions may use an index, whereas of a statement's only those may that PostgreSQL knows to leak
# nothing, and `@@` is none of these. So the query of a search is in the policy. Any row has or lacks a word.
_FOUND = "tokens @@ coalesce(nullif(current_setting('ullage.query', true), ''), 'a | !a')::tsquery"
# Rows in another user's session would take the positions of that session's own.
_OWN_SESSION = "EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = {0}.session_id AND s.owner = current_user::text)"


def _policies(table: str) -> tuple[str, ...]:
    readable = f"{_MINE} OR {_SHARED[table]}" if table in _SHARED else _MINE
    if table == "message_words":
        readable = f"{_FOUND} AND ({readable})"
    insertable = f"{_MINE} AND {_OWN_SESSION.format(table)}" if table in _OF_SESSIONS else _MINE
    return (
        f"CREATE POLICY reading ON {table} FOR SELECT USING ({readable})",
        f"CREATE POLICY inserting ON {table} FOR INSERT WITH CHECK ({insertable})",
        f"CREATE POLICY updating ON {table} FOR UPDATE USING ({_MINE}) WITH CHECK ({insertable})",
        f"CREATE POLICY deleting ON {table} FOR DELETE USING ({_MINE})",
        *_enable(table),
    )


def _enable(table: str) -> tuple[str, str]:
    return f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY", f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"


_ADD_OWNER = 'ALTER TABLE {} ADD owner TEXT COLLATE "C" NOT NULL DEFAULT current_user'

ROW_SECURITY = (
    # The next search fills the index again.
    "TRUNCATE message_words, message_chunks, message_vocabulary",
    "UPDATE sessions SET indexed_position = -1",
    *map(_ADD_OWNER.format, _OWNED),
    'ALTER TABLE sessions ADD workspace TEXT COLLATE "C"',
    "CREATE INDEX shared ON sessions (owner, workspace) WHERE workspace IS NOT NULL",
    """
    CREATE TABLE sharing (
        owner TEXT COLLATE "C" NOT NULL DEFAULT current_user,
        workspace TEXT COLLATE "C" NOT NULL,
        member TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (owner, workspace, member)
    )
    """,
    'ALTER TABLE message_words ADD session_id TEXT COLLATE "C" NOT NULL',
    "CREATE INDEX owned_words ON message_words (owner, row_id)",
    # Its ids need no look at the rows of other users. They begin at `TextIndex.further`.
    f"CREATE SEQUENCE further_rows START {1 << 48}",
    "ALTER TABLE message_vocabulary DROP CONSTRAINT message_vocabulary_pkey, ADD PRIMARY KEY (owner, word)",
    "ALTER TABLE calibrations DROP CONSTRAINT calibrations_pkey, ADD PRIMARY KEY (owner, model)",
    "ALTER TABLE vectors DROP CONSTRAINT vectors_record_id_chunk_model_key, "
    "ADD UNIQUE (record_id, chunk, model, owner)",
    *_FUNCTIONS,
    *(statement for table in _OWNED for statement in _policies(table)),
    f"CREATE POLICY reading ON sharing FOR SELECT USING ({_MINE} OR member IN "
    "(SELECT rolname FROM pg_roles WHERE pg_has_role(oid, 'MEMBER')))",
    f"CREATE POLICY owning ON sharing USING ({_MINE}) WITH CHECK ({_MINE})",
    *_enable("sharing"),
)

# What a member may read is asked for once in a statement, as a set, and not of each row. A subquery that gives one
# value is never made a set, here of all records.
_SHARED_NOW = {
    "sessions": "(owner, workspace) IN (SELECT w.owner, w.workspace FROM shared_workspaces() w)",
    "records": "session_id IN (SELECT shared_sessions())",
    "snapshots": "session_id IN (SELECT shared_sessions())",
    "message_chunks": f"({_TEAM} AND (SELECT TRUE FROM records r WHERE r.record_id = message_chunks.record_id))",
}
# A search of what is shared reads no other rows, not even one's own.
_SEARCHED = {
    "message_words": f"{_FOUND} AND (({_MINE} AND NOT {_TEAM}) OR session_id IN (SELECT shared_sessions()))",
    "message_vocabulary": f"({_MINE} AND NOT {_TEAM}) OR "
    "(owner, workspace) IN (SELECT w.owner, w.workspace FROM shared_workspaces() w)",
}
_WITHOUT_POLICIES = ("sessions", "message_words", "message_vocabulary")
_SHARERS = "(SELECT owner FROM sessions WHERE workspace IS NOT NULL)"

# The vocabulary counts the rows of each workspace apart, "" for none, so that a member may read those that are shared.
SHARED_WORDS = (
    # Row-level security would hide other users' rows from who brings the tables up to date.
    *(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY" for table in _WITHOUT_POLICIES),
    "ALTER TABLE message_vocabulary ADD workspace TEXT COLLATE \"C\" NOT NULL DEFAULT ''",
    # By the word first: a member looks for one among those of several owners.
    "ALTER TABLE message_vocabulary DROP CONSTRAINT message_vocabulary_pkey, ADD PRIMARY KEY (word, owner, workspace)",
    f"DELETE FROM message_vocabulary WHERE owner IN {_SHARERS}",
    "INSERT INTO message_vocabulary (owner, workspace, word, rows) SELECT w.owner, coalesce(s.workspace, ''), word, "
    "count(*) FROM message_words w JOIN sessions s ON s.session_id = w.session_id, "
    f"unnest(tsvector_to_array(w.tokens) || ARRAY['']) AS word WHERE w.owner IN {_SHARERS} "
    "GROUP BY w.owner, coalesce(s.workspace, ''), word",
    # Of the table `sharing` a role sees what it shares and what others share with it.
    f"""
    CREATE FUNCTION shared_workspaces() RETURNS TABLE (owner TEXT, workspace TEXT) LANGUAGE sql STABLE ROWS 100
    BEGIN ATOMIC
        SELECT DISTINCT h.owner, h.workspace FROM sharing h WHERE {_TEAM};
    END
    """,
    f"ALTER POLICY reading ON sessions USING ({_MINE} OR {_SHARED_NOW['sessions']})",
    f"""
    CREATE OR REPLACE FUNCTION shared_sessions() RETURNS SETOF TEXT LANGUAGE sql STABLE ROWS 100 BEGIN ATOMIC
        SELECT s.session_id FROM sessions s WHERE {_TEAM} AND {_SHARED_NOW["sessions"]};
    END
    """,
    *(
        f"ALTER POLICY reading ON {table} USING ({_MINE} OR {_SHARED_NOW[table]})"
        for table in ("records", "snapshots", "message_chunks")
    ),
    *(f"ALTER POLICY reading ON {table} USING ({condition})" for table, condition in _SEARCHED.items()),
    "DROP FUNCTION is_shared(TEXT, TEXT), is_shared_session(TEXT), is_shared_record(BIGINT)",
    *(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY" for table in _WITHOUT_POLICIES),
)
