"""Orchestration: everything that happens to a session. See README.md in this folder."""
