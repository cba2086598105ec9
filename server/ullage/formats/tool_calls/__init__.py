"""Reads tool calls from a model's stream in three syntaxes.

The syntaxes are native JSON, XML tags in the text, and caret fences in the text. Each reader takes the stream in
pieces, divided anywhere, and returns the fragments that are certain so far.
"""
