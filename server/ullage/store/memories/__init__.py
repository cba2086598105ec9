"""The files of memories in folders."""
