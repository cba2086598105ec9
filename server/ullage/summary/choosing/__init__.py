"""Chooses the text of an offline summary."""
