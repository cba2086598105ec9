"""Fits the summary's weights to recorded sessions."""
