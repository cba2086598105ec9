"""The list of hooks that arrived, next to the store: a line for each, for `ullage doctor`."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Bytes after which the older half is dropped: some hundred lines.
_LONGEST = 100_000


def arrivals_path(store: str) -> str:
    """Returns the path of the list of hooks that arrived, for the store at `store`."""
    return f"{store}.hooks.jsonl"


def note_arrival(store: str, texts: "Mapping[str, str]", characters: int, given: "Mapping[str, int]") -> None:
    """Adds a line: the time, these texts, the number of characters of the answer, and how many losses of each kind it
    has. All texts are plain words, so that they need no escapes in JSON. Raises `OSError`."""
    path = arrivals_path(store)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120
    told = "".join(f',"{name}":"{text}"' for name, text in texts.items())
    counts = ",".join(f'"{kind}":{count}' for kind, count in given.items())
    at = time.time_ns() // 1_000_000
    line = f'{{"at":{at}{told},"characters":{characters},"given":{{{counts}}}}}\n'
    append_line(path, line.encode(), _LONGEST)


def append_line(path: str, line: bytes, longest: int) -> None:
    """Adds a line, with its line end, to a file. If the file is longer than `longest` bytes then, its older half is
    dropped. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        # The system appends wherever this is; Python counts from here.
        file.seek(0, os.SEEK_END)
        file.write(line)
        if file.tell() > longest:
            file.seek(-longest // 2, os.SEEK_END)
            newer = file.read().partition(b"\n")[2]
            file.truncate(0)
            file.write(newer)
