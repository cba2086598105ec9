"""Writes requests: a conversation as each model provider wants it."""
