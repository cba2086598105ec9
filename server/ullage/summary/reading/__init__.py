"""Reads archived messages into excerpts, runs and names."""
