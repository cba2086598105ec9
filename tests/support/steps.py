"""Work that other load on the machine does not change: as a number of steps, of SQLite or of Python; and work that must
come to an end, in a process of its own that can be stopped."""

import multiprocessing
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec

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


_P = ParamSpec("_P")

# Seconds. The work takes a few; if its cost grew with the square of the input, it would take hours.
PATIENCE = 300.0


def ends(work: Callable[_P, object], *args: _P.args, **named: _P.kwargs) -> bool:
    """Returns whether the work returns within `PATIENCE`. Work that does not is stopped. `work` is a function of a
    module, and its arguments can be pickled."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=args, kwargs=named)
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0
