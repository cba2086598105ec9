"""Summaries written by a model: the instructions, and reading and checking the answer."""
