"""The session store: an append-only log in SQLite."""
