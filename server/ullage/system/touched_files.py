"""The files of a project that an agent has read or changed, as they are now."""

import os
import stat
from pathlib import Path

# Bytes. A longer file is attached by no agent.
_LONGEST = 64 << 10


def changed_at(path: str) -> float:
    """Returns when a file was last changed, in Unix seconds; 0 if there is no such file now."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return 0.0
    return found.st_mtime if stat.S_ISREG(found.st_mode) else 0.0


def text_of(path: str) -> str:
    """Returns the text of a file; "" if it is long, or can't be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LONGEST + 1)
    except (OSError, ValueError):
        return ""
    return data.decode(errors="replace") if len(data) <= _LONGEST else ""
