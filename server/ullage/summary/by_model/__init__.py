"""Summaries written by a model: what it is asked, how its text is read and checked."""
