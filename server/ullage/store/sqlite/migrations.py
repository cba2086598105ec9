"""The tables of a session store, and their changes version by version.

`PRAGMA user_version` is the number of migrations that a file has seen. A migration that was released never changes.
"""

import sqlite3

# "ullg": distinguishes a session store from any other SQLite file.
APPLICATION_ID = 0x756C6C67

# `records.messages` counts the messages up to and including the record, inherited ones too, so that a session's
# count, and a message's index, are read from one row. `records.event` is the event's tag,
# `records.message_id` the appended message's id.
_V1 = (
    """
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        parent_id TEXT,
        fork_position INTEGER,
        deleted INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        title TEXT NOT NULL,
        cwd TEXT NOT NULL,
        model TEXT NOT NULL,
        indexed_position INTEGER NOT NULL DEFAULT -1
    )
    """,
    "CREATE INDEX forks ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    """
    CREATE TABLE records (
        record_id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        timestamp INTEGER NOT NULL,
        event TEXT NOT NULL,
        messages INTEGER NOT NULL,
        message_id TEXT,
        payload BLOB NOT NULL,
        UNIQUE (session_id, position)
    )
    """,
    "CREATE INDEX message_ids ON records (session_id, message_id) WHERE message_id IS NOT NULL",
    "CREATE INDEX message_numbers ON records (session_id, messages) WHERE message_id IS NOT NULL",
    "CREATE INDEX edits ON records (session_id, position) WHERE event IN ('context_edited', 'edit_reverted')",
    "CREATE TABLE snapshots (session_id TEXT PRIMARY KEY, position INTEGER NOT NULL, snapshot BLOB NOT NULL)",
    "CREATE TABLE calibrations (model TEXT PRIMARY KEY, calibration BLOB NOT NULL)",
    "CREATE VIRTUAL TABLE message_text USING fts5 (text)",
    f"PRAGMA application_id = {APPLICATION_ID}",
)

# A row of `message_text` is a chunk of a message, see `word_index.py`. The older index held one message per row; the
# next search fills the new one from the log.
_V2 = (
    "DROP TABLE message_text",
    "CREATE VIRTUAL TABLE message_text USING fts5 (names, words, tokenize = 'porter unicode61 remove_diacritics 2')",
    "UPDATE sessions SET indexed_position = -1",
)

# The index has no text of its own (`content`), and of a word only in which rows it is (`detail`), see `word_index.py`:
# a seventh of the text, where text, places and two columns took more than twice the text. `message_vocabulary` counts
# the rows of a word.
_V3 = (
    "DROP TABLE message_text",
    "CREATE VIRTUAL TABLE message_words USING fts5 (tokens, content = '', detail = none, tokenize = 'ascii')",
    "CREATE VIRTUAL TABLE message_vocabulary USING fts5vocab (message_words, row)",
    "CREATE TABLE message_chunks (first_row INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, chunks INTEGER NOT NULL)",
    "CREATE INDEX chunked_records ON message_chunks (record_id)",
    "UPDATE sessions SET indexed_position = -1",
)

# The sessions of agents behind the proxy are found without reading their messages.
_V4 = ("CREATE INDEX attachments ON records (session_id, position) WHERE event = 'agent_attached'",)

# Embeddings of chunks of messages, see `vectors.py`. A migration that changes what a chunk is must empty it. And the
# sessions with settings of their own are found without reading all records.
_V5 = (
    """
    CREATE TABLE vectors (
        vector_id INTEGER PRIMARY KEY,
        record_id INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        model TEXT NOT NULL,
        vector BLOB NOT NULL,
        UNIQUE (record_id, chunk, model)
    )
    """,
    "CREATE INDEX configurations ON records (session_id) WHERE event = 'session_configured'",
)

# Payloads and snapshots may be compressed, see `codec.py`. No table changes: the number keeps out versions that can't
# read such rows.
_V6: tuple[str, ...] = ()

MIGRATIONS = (_V1, _V2, _V3, _V4, _V5, _V6)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Runs the migrations that the store's file has not seen, and records its new version. The caller must hold a write
    transaction, so that either all of them run or none."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version >= len(migrations):
        return
    for statements in migrations[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(migrations)}")
