"""Prompt turns: answers of the model and its tool calls."""
