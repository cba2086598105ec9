"""The tables of a session store in PostgreSQL, and their changes version by version.

They are in the first schema of the search path, so that one database may have several stores. `store_version` holds
the number of migrations that the schema has seen. A migration that was released never changes.
"""

from ullage.model.errors import StoreTooNew
from ullage.store.postgres.row_security import ROW_SECURITY, SHARED_WORDS
from ullage.store.postgres.search_functions import SEARCH_FUNCTIONS
from ullage.store.tables.connection import Connection

# The columns are those of SQLite's tables, see `migrations.py`. Names sort by their code points, as in SQLite.
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
# `transactions.py`: each statement of a function sees what was committed before it, and so what others wrote while a
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
