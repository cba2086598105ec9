"""Transcripts of other programs, read and written. No format knows another."""
