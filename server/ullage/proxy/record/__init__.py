"""The record: what client and agent say, as a session of the store."""
