"""The tables of sessions and records, in SQL that SQLite and PostgreSQL share."""
