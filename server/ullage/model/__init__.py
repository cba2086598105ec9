"""Frozen values that every rank speaks in. No behaviour beyond what a value knows of itself."""
