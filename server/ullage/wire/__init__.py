"""Adds Ullage to an agent's settings and takes it out again: text in, text out. Everything else in the text stays as it
is, byte for byte."""
