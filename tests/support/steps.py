"""Work as a number of steps, which other load on the machine does not change: of SQLite, and of Python.

Both count the instructions of a virtual machine. The same work on the same values takes the same number. What runs in C
in between is not counted: a copy of a list, the depth of a B-tree.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct

from support.open_databases import connections_to


class Steps(Struct):
    """The number of steps taken so far."""

    taken: int = 0

    def more(self) -> int:
        """Counts one step. Returns 0, at which SQLite continues."""
        self.taken += 1
        return 0


@contextmanager
def sqlite_steps(path: Path) -> Generator[Steps]:
    """Counts the steps of SQLite in the block, on all connections to the file that are open when the block begins."""
    steps = Steps()
    connections = connections_to(path)
    assert connections, f"no open connection to {path}"
    for connection in connections:
        connection.set_progress_handler(steps.more, 1)
    try:
        yield steps
    finally:
        for connection in connections:
            connection.set_progress_handler(None, 1)


@contextmanager
def python_steps() -> Generator[Steps]:
    """Counts the steps of Python in the block, in functions that the block calls, on this thread."""
    steps = Steps()
    # Coverage uses the same hook.
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps.more()
        return trace

    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)
