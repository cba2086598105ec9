"""Followed conversations: those that other programs have, read from their files while they continue."""
