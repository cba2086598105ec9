"""Generators for languages other than Python. Each module has functions that return a file's whole text."""
