"""The list of hooks that arrived, next to the store: a line for each, for `ullage doctor`."""

import os
import time

from ullage.cli.hooks.bounded_lines import append_line

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
