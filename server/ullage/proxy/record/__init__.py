"""The record of a proxied session: the messages between client and agent, as a session in Ullage's store."""
