"""Ends child processes together with Ullage when a signal ends it, because a child in a group of its own gets none.

Nothing can be done after SIGKILL: then a child ends when it reads the end of its input.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any
from weakref import WeakSet

from ullage.system.process_groups import own_group

# Seconds that the children may take to end after SIGTERM, before they are killed, and between two looks at them.
_GRACE = 1.0
_PAUSE = 0.02


async def start_with_us(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Starts a child in a process group of its own, with the options of `asyncio.create_subprocess_exec`. Raises
    `OSError` if it cannot be started.

    The group is ended before a SIGTERM, SIGHUP or SIGINT ends or interrupts Ullage. A signal that has a handler already
    keeps it, but for SIGINT, whose handler is called afterwards. On Windows, and outside the main thread, where Python
    handles no signals, the child is only started.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return await asyncio.create_subprocess_exec(*command, **options, **own_group())
    _guard()
    _state.starting += 1
    try:
        process = await asyncio.create_subprocess_exec(*command, **options, **own_group())
        _state.running.add(process)
    finally:
        _state.starting -= 1
        _state.repeat()
    return process


class _State:
    """The children that may run, and the signals that came while one was being started and was not yet known."""

    def __init__(self) -> None:
        self.running: WeakSet[asyncio.subprocess.Process] = WeakSet()
        self.guarded: set[int] = set()
        self.starting = 0
        self.waiting: set[int] = set()

    def repeat(self) -> None:
        """Has the signals come again that could not be handled while a child was being started."""
        while self.waiting and not self.starting:
            os.kill(os.getpid(), self.waiting.pop())


_state = _State()


def _guard() -> None:
    if sys.platform == "win32":
        return
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        before = signal.getsignal(number)
        is_ours = before is signal.SIG_DFL or (number == signal.SIGINT and callable(before))
        if is_ours and number not in _state.guarded:
            _state.guarded.add(number)
            signal.signal(number, _ending(before if callable(before) else None))


def _ending(then: Callable[[int, FrameType | None], object] | None) -> Callable[[int, FrameType | None], None]:
    """Returns a signal handler that ends the children, and then calls `then` or has the signal end Ullage."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _state.starting:
            _state.waiting.add(number)
            return
        _end_all()
        if then is not None:
            then(number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return handle


def _end_all() -> None:
    if sys.platform == "win32":
        return
    groups = [process.pid for process in _state.running if process.returncode is None]
    _signal(groups, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    while (groups := [group for group in groups if _lives(group)]) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    _signal(groups, signal.SIGKILL)


def _signal(groups: list[int], number: int) -> None:
    if sys.platform == "win32":
        return
    for group in groups:
        with suppress(OSError):
            os.killpg(group, number)


def _lives(group: int) -> bool:
    """Returns whether a process of the group lives. The child itself is waited for, since it stays a process until it
    is."""
    if sys.platform == "win32":
        return False
    with suppress(OSError):
        os.waitpid(group, os.WNOHANG)
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
