"""The answer of `view` for a folder: two levels of it, with sizes."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.memory.paths import MemoryPath, fault_of

LEVELS = 2
_UNITS = "BKMG"


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """A file or folder in the listing of a memory. `size` is in bytes; a folder's is that of all files in it."""

    path: MemoryPath
    size: int
    is_folder: bool = False


def is_listed(name: str) -> bool:
    """Returns whether a listing shows a file or folder named `name`. A listing leaves out hidden files, `node_modules`,
    and names that a memory path may not contain."""
    return not fault_of(name) and name != "node_modules"


def render_listing(folder: MemoryPath, entries: Sequence[MemoryEntry]) -> str:
    """Returns the text that a model gets for the listing of `folder`: a heading, then one line per entry with its size.
    `entries` begin with the folder itself, and each folder precedes its contents."""
    head = f"Here're the files and directories up to {LEVELS} levels deep in {folder}, excluding hidden items"
    lines = [f"{head} and node_modules:"]
    lines += [
        f"{human_size(entry.size)}\t{entry.path}" + "/" * (entry.is_folder and entry.path != folder)
        for entry in entries
    ]
    return "\n".join(lines)


def human_size(size: int) -> str:
    """Returns a number of bytes in short form, with at most one decimal: `0B`, `5.5K`, `1.2M`."""
    unit = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{size / 1024**unit:.1f}".removesuffix(".0") + _UNITS[unit]
