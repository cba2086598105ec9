"""Limits of a memory's size."""

from msgspec import Struct


class MemoryLimits(Struct, frozen=True, kw_only=True):
    """`file_bytes` is the limit of one file, `total_bytes` of all files together, `entries` of the number of files and
    folders.

    A model reads the memory, so a file much longer than a context window is useless; the totals keep a model that
    writes in a loop from filling the disk.
    """

    file_bytes: int = 256 * 1024
    total_bytes: int = 16 * 1024 * 1024
    entries: int = 1_000
