"""The parents of a process, as far as the system shows them. Imports little: `ullage statusline` uses it."""

import os
import sys

from ullage.limits import OWN_FILE, read_plain

# Parents of a process that are looked at. A deeper tree is a fault.
_DEEPEST = 64


def ancestors(process_id: object) -> "list[int]":
    """Returns a process and its parents, the process first, as far as the system shows them. Returns an empty list if
    `process_id` is not the id of a process."""
    found: list[int] = []
    while type(process_id) is int and process_id > 0 and len(found) < _DEEPEST:
        found.append(process_id)
        process_id = _parent(process_id)
    return found


def _parent(process_id: int) -> int | None:
    if sys.platform == "linux":
        try:
            # The name before `)` may hold anything (proc_pid_stat(5)).
            return int(read_plain(f"/proc/{process_id}/stat", OWN_FILE).rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return None
    if sys.platform == "win32":
        return os.getppid() if process_id == os.getpid() else None
    import subprocess  # noqa: PLC0415  (only macOS and the BSDs need it)

    answer = subprocess.run(["ps", "-o", "ppid=", "-p", str(process_id)], capture_output=True, text=True, check=False)
    text = answer.stdout.strip()
    return int(text) if text.isdecimal() else None
