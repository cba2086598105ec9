"""The record: the messages between client and agent, as a session of the store."""
