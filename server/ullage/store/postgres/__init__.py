"""The session store in PostgreSQL, for several machines and many workers. Needs the extra `ullage[postgres]`."""
