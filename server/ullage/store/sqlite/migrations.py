"""The tables of a session store, and their changes version by version.

`PRAGMA user_version` is the number of migrations that a file has seen. A migration that was released never changes.

A migration may be an addition: an older Ullage reads and writes the file as before, and what it leaves out, such as an
index, the newer one fills again from the log. After additions the number is 1,000 times that of the last migration that
is none, and the number of all: 6,008 is a file of version 8 that Ullage 6 and 7 use, too.
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

# Payloads and snapshots may be compressed, see `connection.py`. No table changes: the number keeps out versions that
# can't read such rows.
_V6: tuple[str, ...] = ()

MIGRATIONS = (_V1, _V2, _V3, _V4, _V5, _V6)
VERSION = len(MIGRATIONS)
# Versions whose migrations are additions. Those up to 6 are in files that have the plain number.
ADDITIONS = frozenset[int]()
_FACTOR = 1_000


def numbers(user_version: int) -> tuple[int, int]:
    """Returns the lowest version of Ullage's store that can use a file, and the version that the file has."""
    return (user_version, user_version) if user_version < _FACTOR else (user_version // _FACTOR, user_version % _FACTOR)


def migrate(
    connection: sqlite3.Connection,
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS,
    additions: frozenset[int] = ADDITIONS,
) -> None:
    """Runs the migrations that the store's file has not seen, and records its new version. The caller must hold a write
    transaction, so that either all of them run or none."""
    _, version = numbers(connection.execute("PRAGMA user_version").fetchone()[0])
    if version >= len(migrations):
        return
    for statements in migrations[version:]:
        for statement in statements:
            connection.execute(statement)
    needed = max({*range(len(migrations) + 1)} - additions)
    number = len(migrations) if needed == len(migrations) else needed * _FACTOR + len(migrations)
    connection.execute(f"PRAGMA user_version = {number}")
