"""The tables of a session store in PostgreSQL, and their changes version by version.

They are in the first schema of the search path, so that one database may have several stores. `store_version` holds
the number of migrations that the schema has seen. A migration that was released never changes.

The owner of a row is the database's role that wrote it, and row-level security
(https://www.postgresql.org/docs/current/ddl-rowsecurity.html) shows it to no other role, not even the tables' owner.
An owner may put sessions into a *workspace* of theirs and share it with members, each a role or a group of roles. A
member reads these sessions on a connection on which `ullage.team` is `on`, and never changes them: without it also a
member's own list and search have nothing of others in them.

A search asks functions for several things at once, because row-level security reads the query of a statement from a
setting, which each query must set again.
"""

from ullage.model.errors import StoreTooNew
from ullage.store.tables.session_table import Connection

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
# The condition that a row matches the query `$1`, where no policy has it.
_MATCHES = "CASE WHEN row_security_active('message_words') THEN 'TRUE' ELSE 'tokens @@ $1::tsquery' END"

# Of an expression that many rows match, only rows with the newest ids are looked at first, so many that they should
# have the `limits` twice. Without the index in the order of ids PostgreSQL combines the range of ids with the rows that
# the GIN index gives; with it, it would compare the tokens of row after row.
_FIND = f"""
    CREATE FUNCTION find_rows(
        queries TEXT[], expected BIGINT[], firsts BIGINT[], lasts BIGINT[], limits BIGINT[]
    ) RETURNS SETOF BIGINT[] LANGUAGE plpgsql SET enable_indexscan = off AS $$
    DECLARE
        finding TEXT := 'SELECT ARRAY(SELECT row_id FROM message_words WHERE ' || {_MATCHES}
            || ' AND row_id >= $2 AND row_id <= $3 ORDER BY row_id DESC LIMIT $4)';
        last BIGINT;
        start BIGINT;
        found BIGINT[];
    BEGIN
        FOR n IN 1 .. cardinality(queries) LOOP
            PERFORM set_config('ullage.query', queries[n], true);
            start := firsts[n];
            -- NULL if there is no such row yet, or if the role may not know.
            last := pg_sequence_last_value(CASE WHEN firsts[n] < {1 << 48}
                THEN pg_get_serial_sequence('records', 'record_id')::regclass ELSE 'further_rows'::regclass END);
            IF expected[n] > limits[n] AND last IS NOT NULL THEN
                last := least(last, lasts[n]);
                start := greatest(start, last - (2.0 * limits[n] * (last - firsts[n]) / expected[n])::bigint);
            END IF;
            EXECUTE finding INTO found USING queries[n], start, lasts[n], limits[n];
            IF start > firsts[n] AND cardinality(found) < limits[n] THEN
                EXECUTE finding INTO found USING queries[n], firsts[n], lasts[n], limits[n];
            END IF;
            RETURN NEXT found;
        END LOOP;
        PERFORM set_config('ullage.query', '', true);
    END
    $$
"""
_COUNT = f"""
    CREATE FUNCTION count_matches(queries TEXT[], most BIGINT) RETURNS SETOF BIGINT LANGUAGE plpgsql AS $$
    DECLARE
        counting TEXT := 'SELECT count(*) FROM (SELECT 1 FROM message_words WHERE ' || {_MATCHES} || ' LIMIT $2) AS f';
        found BIGINT;
    BEGIN
        FOR n IN 1 .. cardinality(queries) LOOP
            PERFORM set_config('ullage.query', queries[n], true);
            EXECUTE counting INTO found USING queries[n], most;
            RETURN NEXT found;
        END LOOP;
        PERFORM set_config('ullage.query', '', true);
    END
    $$
"""
SEARCH_FUNCTIONS = (_FIND, _COUNT)
# The columns are those of SQLite's tables, see `sqlite/database.py`. Names sort by their code points, as in SQLite.
# `sessions.rowid` counts the sessions in the order of their creation, as SQLite does by itself. A payload is kept as it
# is: the server compresses rows of more than about 2 kB (https://www.postgresql.org/docs/current/storage-toast.html).
_V1 = (
    """
    CREATE TABLE sessions (
        session_id TEXT COLLATE "C" PRIMARY KEY,
        parent_id TEXT COLLATE "C",
        fork_position BIGINT,
        deleted BOOLEAN NOT NULL DEFAULT FALSE,
        created_at BIGINT NOT NULL,
        title TEXT NOT NULL,
        cwd TEXT NOT NULL,
        model TEXT NOT NULL,
        indexed_position BIGINT NOT NULL DEFAULT -1,
        rowid BIGINT GENERATED ALWAYS AS IDENTITY
    )
    """,
    "CREATE INDEX forks ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    """
    CREATE TABLE records (
        record_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session_id TEXT COLLATE "C" NOT NULL,
        position BIGINT NOT NULL,
        timestamp BIGINT NOT NULL,
        event TEXT NOT NULL,
        messages BIGINT NOT NULL,
        message_id TEXT COLLATE "C",
        payload BYTEA NOT NULL,
        UNIQUE (session_id, position)
    )
    """,
    "CREATE INDEX message_ids ON records (session_id, message_id) WHERE message_id IS NOT NULL",
    "CREATE INDEX message_numbers ON records (session_id, messages) WHERE message_id IS NOT NULL",
    "CREATE INDEX edits ON records (session_id, position) WHERE event IN ('context_edited', 'edit_reverted')",
    "CREATE INDEX attachments ON records (session_id, position) WHERE event = 'agent_attached'",
    'CREATE TABLE snapshots (session_id TEXT COLLATE "C" PRIMARY KEY, position BIGINT NOT NULL, '
    "snapshot BYTEA NOT NULL)",
    'CREATE TABLE calibrations (model TEXT COLLATE "C" PRIMARY KEY, calibration BYTEA NOT NULL)',
    "CREATE TABLE message_words (row_id BIGINT PRIMARY KEY, size INTEGER NOT NULL, tokens TSVECTOR NOT NULL)",
    "CREATE INDEX words_of_rows ON message_words USING gin (tokens)",
    'CREATE TABLE message_vocabulary (word TEXT COLLATE "C" PRIMARY KEY)',
    "CREATE TABLE message_chunks (first_row BIGINT PRIMARY KEY, record_id BIGINT NOT NULL, chunks INTEGER NOT NULL)",
    "CREATE INDEX chunked_records ON message_chunks (record_id)",
)

# As SQLite's version 5.
_V2 = (
    """
    CREATE TABLE vectors (
        vector_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        record_id BIGINT NOT NULL,
        chunk BIGINT NOT NULL,
        model TEXT COLLATE "C" NOT NULL,
        vector BYTEA NOT NULL,
        UNIQUE (record_id, chunk, model)
    )
    """,
    "CREATE INDEX configurations ON records (session_id) WHERE event = 'session_configured'",
)

# `owner` and `workspace`.
_V3 = ROW_SECURITY

# Append one record or several, of which the first has the position `first`, if they continue the session's log, and
# return whether they did. One statement, so that an append is one round trip. The keys are those of the locks in
# `postgres_store.py`: each statement of a function sees what was committed before it, and so what others wrote while a
# lock was waited for. Lists take psycopg several times as long as single values, and most appends are of one record.
_INSERT_AFTER = """
        PERFORM pg_advisory_xact_lock_shared(store_lock), pg_advisory_xact_lock(session_lock);
        INSERT INTO records (session_id, position, timestamp, event, messages, message_id, payload)
            SELECT id, first + r.number - 1, r.at, r.event, last.messages + r.count, r.message_id, r.payload
            FROM (SELECT position, messages FROM records WHERE session_id = id{bound} ORDER BY position DESC LIMIT 1)
                AS last
            CROSS JOIN {rows} AS r (at, event, count, message_id, payload, number)
            WHERE last.position = first - 1
                AND EXISTS (SELECT 1 FROM sessions WHERE session_id = id AND NOT deleted);
        RETURN FOUND;
"""


def _append_functions(create: str, bound: str) -> tuple[str, str]:
    return (
        f"""
    {create} FUNCTION append_record(
        store_lock BIGINT, session_lock BIGINT, id TEXT, first BIGINT, at BIGINT, event TEXT, count BIGINT,
        message_id TEXT, payload BYTEA
    ) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    BEGIN
        {_INSERT_AFTER.format(bound=bound, rows="(SELECT $5, $6, $7, $8, $9, 1)")}
    END
    $$
    """,
        f"""
    {create} FUNCTION append_records(
        store_lock BIGINT, session_lock BIGINT, id TEXT, first BIGINT, at BIGINT[], event TEXT[], count BIGINT[],
        message_id TEXT[], payload BYTEA[]
    ) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    BEGIN
        {_INSERT_AFTER.format(bound=bound, rows="unnest($5, $6, $7, $8, $9) WITH ORDINALITY")}
    END
    $$
    """,
    )


_V4 = _append_functions("CREATE", "")

# Only the session's end is looked at: without statistics of a new table PostgreSQL reads and sorts the whole session,
# for as long as a connection keeps the plan.
_V5 = _append_functions("CREATE OR REPLACE", " AND position >= first - 1")

# The vocabulary has all tokens, with the numbers of their rows, and the number of all rows under the empty one.
# Row-level security would hide other users' rows from who brings the tables up to date.
_V6 = (
    "ALTER TABLE message_vocabulary DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE message_words DISABLE ROW LEVEL SECURITY",
    "TRUNCATE message_vocabulary",
    # A number that changes stays in its page.
    "ALTER TABLE message_vocabulary ADD rows BIGINT NOT NULL, SET (fillfactor = 70)",
    "INSERT INTO message_vocabulary (owner, word, rows) SELECT w.owner, word, count(*) FROM message_words w, "
    "unnest(tsvector_to_array(w.tokens) || ARRAY['']) AS word GROUP BY w.owner, word",
    "ALTER TABLE message_vocabulary ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE message_words ENABLE ROW LEVEL SECURITY",
    *SEARCH_FUNCTIONS,
)

_V7 = SHARED_WORDS

MIGRATIONS = (_V1, _V2, _V3, _V4, _V5, _V6, _V7)
VERSION = len(MIGRATIONS)


def is_current(connection: Connection) -> bool:
    """Returns whether the schema has seen all migrations. Raises `StoreTooNew` if a newer Ullage wrote the schema."""
    (exists,) = connection.execute("SELECT to_regclass('store_version') IS NOT NULL").fetchone()
    return exists and _version(connection) == VERSION


def migrate(connection: Connection) -> None:
    """Runs the migrations that the schema has not seen, and records its new version. The caller must hold a
    transaction in which it writes alone. Raises `StoreTooNew` if a newer Ullage wrote the schema."""
    connection.execute("CREATE TABLE IF NOT EXISTS store_version (version INTEGER NOT NULL)")
    version = _version(connection)
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    if version < VERSION:
        connection.execute("DELETE FROM store_version")
        connection.execute("INSERT INTO store_version (version) VALUES (?)", (VERSION,))


def _version(connection: Connection) -> int:
    row = connection.execute("SELECT version FROM store_version").fetchone()
    version = row[0] if row else 0
    if version > VERSION:
        raise StoreTooNew(
            f"the session store in PostgreSQL has version {version}, this Ullage knows up to {VERSION}: "
            "update Ullage, or choose another schema or database; nothing was changed"
        )
    return version
