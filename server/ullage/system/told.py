"""What agents have said to their status lines: `ullage statusline` keeps the newest text of each conversation."""

from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.service.ports.agent_files import ToldWindow

# Bytes. Such a text has about one thousand.
_LONGEST = 1 << 16


class _Window(Struct, frozen=True, kw_only=True):
    context_window_size: int | None = None


class _Said(Struct, frozen=True, kw_only=True):
    context_window: _Window | None = None


class ToldWindows:
    """The windows that agents have said, for the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.statusline")
        self._known: dict[str, tuple[tuple[int, ...], int | None]] = {}

    def __call__(self, origin_id: str) -> int | None:
        """Returns the window, in tokens, of the conversation with this id of its agent. Returns None if the agent has
        not said it, or if what it said can't be read."""
        path = self._folder / f"{origin_id}.json"
        try:
            status = path.stat()
            seen = status.st_ino, status.st_mtime_ns, status.st_size
            if self._known.get(origin_id, ((), None))[0] != seen:
                data = path.read_bytes() if status.st_size <= _LONGEST else b""
                said = msgspec.json.decode(data, type=_Said)
                size = said.context_window.context_window_size if said.context_window else None
                self._known[origin_id] = seen, size if size and size > 0 else None
        except (OSError, ValueError, msgspec.DecodeError):
            return None
        return self._known[origin_id][1]


def told_beside(store: Path) -> ToldWindow:
    """Returns `ToldWindows`, or, if no agent has said anything until now, what says the same in less time."""
    told = ToldWindows(store)
    return told if store.with_name(f"{store.name}.statusline").exists() else _nothing_told


def _nothing_told(origin_id: str) -> int | None:  # noqa: ARG001 - the port's parameter
    return None
