"""How much a memory may hold."""

from msgspec import Struct


class MemoryLimits(Struct, frozen=True, kw_only=True):
    """`file_bytes` of one file, `total_bytes` of all, `entries` files and folders in all.

    A memory is read by a model, so a file much longer than a context window helps nobody; the totals keep a loop that
    writes from filling the disk.
    """

    file_bytes: int = 256 * 1024
    total_bytes: int = 16 * 1024 * 1024
    entries: int = 1_000
