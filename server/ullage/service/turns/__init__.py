"""Prompt turns."""
