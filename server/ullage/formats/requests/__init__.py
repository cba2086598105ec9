"""Writes a conversation as a request to each model provider."""
