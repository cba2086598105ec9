"""The files next to the store that hooks write: summaries that wait for their session's next hook, and a line for each
hook that arrived, for `ullage doctor`."""

import os
import time

from ullage.cli.statusline.files import is_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Seconds. An agent asks for the next hook at once; an older summary is that of a compaction that was given up.
_FRESH = 600
# Bytes of the list of arrivals after which its older half is dropped: some hundred lines.
_LONGEST = 100_000


def arrivals_path(store: str) -> str:
    """Returns the path of the list of hooks that arrived, for the store at `store`."""
    return f"{store}.hooks.jsonl"


def keep_summary(store: str, session_id: str, summary: str) -> None:
    """Keeps a summary for the session's next hook. Raises `OSError`."""
    if not is_safe(session_id):
        return
    folder = f"{store}.hooks"
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    for entry in os.scandir(folder):
        if entry.stat().st_mtime < time.time() - _FRESH:
            os.unlink(entry.path)  # noqa: PTH108
    path = _summary_path(store, session_id)
    own = f"{path}.{os.getpid()}"
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(summary.encode("utf-8", "replace"))
    os.replace(own, path)  # noqa: PTH105


def take_summary(store: str, session_id: str) -> str:
    """Returns the summary that was kept for a session, and removes it. Returns "" if there is none, or only that of a
    compaction long ago."""
    if not is_safe(session_id):
        return ""
    path = _summary_path(store, session_id)
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            fresh = os.fstat(file.fileno()).st_mtime >= time.time() - _FRESH
            summary = file.read().decode("utf-8", "replace")
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return ""
    return summary if fresh else ""


def note_arrival(store: str, texts: "Mapping[str, str]", characters: int, given: "Mapping[str, int]") -> None:
    """Adds a line to the list of hooks that arrived: the time, these texts, the number of characters of the answer, and
    how many losses of each kind it has. All texts are plain words, so that they need no escapes in JSON. Raises
    `OSError`."""
    path = arrivals_path(store)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120
    told = "".join(f',"{name}":"{text}"' for name, text in texts.items())
    counts = ",".join(f'"{kind}":{count}' for kind, count in given.items())
    at = time.time_ns() // 1_000_000
    line = f'{{"at":{at}{told},"characters":{characters},"given":{{{counts}}}}}\n'
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        file.write(line.encode())
        if file.tell() > _LONGEST:
            file.seek(-_LONGEST // 2, os.SEEK_END)
            newer = file.read().partition(b"\n")[2]
            file.truncate(0)
            file.write(newer)


def was_given(store: str, session_id: str) -> bool:
    """Returns whether something was given back to a session, as far as the list goes back."""
    try:
        with open(arrivals_path(store), "rb") as file:  # noqa: PTH123
            lines = file.read().splitlines()
    except OSError:
        return False
    marks = (f'"session":"{session_id}"'.encode(), b'"outcome":"given"')
    return any(all(mark in line for mark in marks) for line in lines)


def _summary_path(store: str, session_id: str) -> str:
    return f"{store}.hooks/{session_id}.summary"
