"""Checks the laws of edits for every kind of edit on random histories. `./scripts/laws` runs it."""
