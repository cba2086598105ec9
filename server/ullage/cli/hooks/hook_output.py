"""What a hook prints for its agent, and what it writes down next to the store: a receipt for each text that was given,
and a line for each hook, for `ullage doctor`."""

import os
import sys
import time

from ullage.host import here
from ullage.store.sqlite.quick_catalogue import add_receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Bytes after which the older half is dropped: some hundred lines.
_LONGEST_ARRIVALS = 100_000


def quoted(text: str) -> str:
    """Returns a text as a JSON string, without importing `json`, which takes as long as all else that a hook does."""
    try:
        from _json import encode_basestring_ascii  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.dumps(text)
    return encode_basestring_ascii(text)


def print_answer(event: str, text: str) -> None:
    """Prints the answer to the hook of an event."""
    told = f'{{"hookEventName":{quoted(event)},"additionalContext":{quoted(text)}}}'
    _print(f'{{"hookSpecificOutput":{told}}}')


def print_plain(text: str) -> None:
    """Prints text that an agent takes as it is: before a compaction, as instructions for its summary."""
    _print(text)


def print_nothing() -> None:
    """Prints that there is nothing to give, and will not be."""
    _print("{}")


def _print(answer: str) -> None:
    try:
        sys.stdout.buffer.write(f"{answer}\n".encode())
        sys.stdout.buffer.flush()
    except OSError:
        # The agent no longer waits for it. Python would try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note_receipt(
    store: str, texts: "Mapping[str, str]", numbers: "Mapping[str, int]", counts: "Mapping[str, int]"
) -> None:
    """Adds a receipt to those of a session in the catalogue.

    - `texts`: `session`, the agent's own id of it; `agent`; `transcript`, the path of the agent's file;
      `why` and `text`.
    - `numbers`: `characters` and `tokens`.
    - `counts`: how many losses of each kind are in the text.

    All but the first three are as in `GivenBack`. Raises `OSError`.
    """
    at = time.time_ns() // 1_000_000
    told = [f"{quoted(name)}:{quoted(text)}" for name, text in texts.items()]
    told += [f"{quoted(name)}:{number}" for name, number in numbers.items()]
    by_kind = ",".join(f"{quoted(kind)}:{count}" for kind, count in counts.items())
    receipt = f'{{"at":{at},{",".join(told)},"counts":{{{by_kind}}}}}'
    add_receipt(store, texts["session"], at, receipt.encode())


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
    append_line(path, line.encode(), _LONGEST_ARRIVALS)


def append_line(path: str, line: bytes, longest: int) -> None:
    """Adds a line, with its line end, to a file in one write. If the file is longer than `longest` bytes then, its
    older half is dropped. No line of another process is lost. Raises `OSError`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # Until it is closed, no other process drops the older half, which rewrites the file, and none appends while
        # this one does.
        here.lock(descriptor)
        os.write(descriptor, line)
        if os.fstat(descriptor).st_size > longest:
            _drop_older(path, longest // 2)
    finally:
        os.close(descriptor)


def _drop_older(path: str, kept: int) -> None:
    """Leaves the whole lines of the last `kept` bytes. A process that ends in the midst of this leaves lines twice."""
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(-kept, os.SEEK_END)
        newer = file.read(2 * kept).partition(b"\n")[2]
        file.seek(0)
        file.write(newer)
        file.truncate()
