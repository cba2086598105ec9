"""Recognises secrets by shape, place, name and randomness."""
