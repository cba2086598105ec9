"""The session store in a SQLite file."""
