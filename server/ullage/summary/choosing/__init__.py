"""Chooses what a summary says."""
