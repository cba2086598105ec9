"""Generators for languages that are not Python, each a module with functions that give a file's whole text."""
