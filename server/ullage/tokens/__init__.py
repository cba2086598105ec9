"""Counting tokens and knowing how full a context is."""
