"""Transcripts of other programs, read and written. No format knows another."""

from ullage.formats.registry import detect, format_names, read

__all__ = ["detect", "format_names", "read"]
