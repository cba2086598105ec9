"""What a status line reads and writes next to the store: the live file, and what agents say of themselves; and JSON as
plain values.

An agent gives its status line its exact figures, on standard input; some are in none of its files. So the text is kept
in the catalogue, for the process that follows.
"""

import os
import time

from ullage.bounds import OWN_FILE, read_plain
from ullage.host import this_system
from ullage.host.side_files import LIVE, STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Rules:
    """What the parser asks for (as `json.JSONDecoder`): plain values, and no control characters in texts."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def parse(data: bytes) -> "Any":
    """Returns the value of a JSON text in UTF-8, which may begin with a byte order mark. Raises `ValueError`, or
    `RecursionError` if nested too deeply."""
    text = data.decode("utf-8", "surrogatepass").strip("\ufeff \t\r\n")
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.loads(text)
    try:
        value, end = make_scanner(_Rules)(text, 0)  # pyright: ignore
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def as_object(value: "Any") -> "dict[str, Any]":
    """Returns the value if it is a JSON object, otherwise an empty one."""
    return value if value.__class__ is dict else {}


def as_list(value: "Any") -> "list[Any]":
    """Returns the value if it is a list, otherwise an empty one."""
    return value if value.__class__ is list else []


# Characters of the longest name of a conversation that becomes the name of a file.
_LONGEST = 128


def default_store() -> str:
    """Returns the path of the store in the user's data folder, as `ullage.store.sqlite.database.default_path` does.
    `platformdirs` takes longer to import than all else here."""
    home = os.path.expanduser("~")  # noqa: PTH111
    folder = this_system.data_folder(home)
    return os.path.join(folder, "ullage", STORE)  # noqa: PTH118


def read_live(store: str) -> "tuple[list[dict[str, Any]], bool]":
    """Returns the rows of the live file, last changed first, and whether a process keeps them; () if unreadable."""
    live = _read_object(store + LIVE)
    if live.get("version") != 1:
        return [], False
    return [as_object(row) for row in as_list(live.get("sessions"))], this_system.runs(live.get("follower"))


def keep(store: str, session_id: str, said: bytes, window: "int | None") -> None:
    """Keeps what an agent has said of a conversation, and the window in it, in place of what it said before. Does
    nothing if that can't be written, or if the id is not a usual one."""
    if not is_safe(session_id):
        return
    # The MCP server starts with this module, and without a store.
    from ullage.store.sqlite.quick_catalogue import keep_told  # noqa: PLC0415

    try:  # noqa: SIM105  (`contextlib` takes 5 ms to import)
        keep_told(store, session_id, window, said)
    except OSError:
        pass


def is_safe(session_id: str) -> bool:
    """Returns whether a file can have this name: letters, digits, `_`, `-`, and `.` except at the beginning."""
    letters = session_id.translate({ord("_"): "a", ord("-"): "a"})
    known = letters.replace(".", "a").isalnum()
    return known and not letters.startswith(".") and len(session_id) <= _LONGEST


def read_told(store: str) -> "Iterator[tuple[float, dict[str, Any]]]":
    """Yields what agents have said of conversations, each with the time in Unix seconds."""
    from ullage.store.sqlite.quick_catalogue import read_said  # noqa: PLC0415

    try:
        told = read_said(store)
    except OSError:
        return
    for at, said in told:
        try:
            yield at / 1_000, as_object(parse(said))
        except (ValueError, RecursionError):
            continue


def remove_old(folder: str, seconds: float, ending: str = "") -> None:
    """Removes the files of a folder whose names end with `ending` and that were last written more than so many seconds
    ago. Another process may do the same at the same time. Raises `OSError` if the folder can't be read."""
    for entry in os.scandir(folder):
        if not entry.name.endswith(ending):
            continue
        try:
            is_old = entry.stat().st_mtime < time.time() - seconds
        except FileNotFoundError:
            continue
        if is_old:
            remove(entry.path)


def remove(path: str) -> None:
    """Removes a file if it is there and can be removed."""
    try:  # noqa: SIM105  (`contextlib` takes 5 ms to import)
        os.unlink(path)  # noqa: PTH108
    except OSError:
        pass


def _read_object(path: str) -> "dict[str, Any]":
    try:
        return as_object(parse(read_plain(path, OWN_FILE)))
    except (OSError, ValueError, RecursionError):
        return {}
