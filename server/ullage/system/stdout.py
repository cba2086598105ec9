"""The door's standard output: whole messages, in order, and nobody waits for a client that does not read.

What the client's pipe takes at once is written at once. The rest waits for a thread; while much of it waits, `hold` has
reading stopped, so that what is kept for a client is bounded by the answers to what was read from it.
"""

import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable

# Bytes that a pipe which is ready takes without blocking: POSIX' PIPE_BUF is at least 512, Linux' and macOS' pipes are
# ready for a write once there is room for so much.
_AT_ONCE = 4096 if os.name == "posix" else 0
# Bytes handed over at a time by the thread, so that it is soon known how much is left.
_PIECE = 1 << 16
# Bytes that may wait before reading stops, and at which it goes on: a few large answers.
FULL, RELAXED = 1 << 22, 1 << 20


class StdoutWriter:
    """Writes messages to a descriptor, from any thread. `hold` is called with True when much waits, with False when
    that is over; `lose` once, with the reason, when the client no longer takes anything."""

    def __init__(self, descriptor: int, hold: Callable[[bool], object], lose: Callable[[str], object]) -> None:
        self._descriptor = descriptor
        self._hold = hold
        self._lose = lose
        self._waiting: deque[memoryview] = deque()
        self._left = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._held = False
        self._gone = False

    def write(self, data: bytes) -> None:
        """Returns at once."""
        with self._changed:
            rest = memoryview(data)
            if not self._waiting:
                rest = rest[self._write_at_once(rest) :]
            if rest and not self._gone:
                self._waiting.append(rest)
                self._left += len(rest)
                self._start()
                self._changed.notify_all()
                self._weigh()

    def flush(self, patience: float) -> None:
        """Waits until all is written, as long as the client takes some of it within `patience` seconds."""
        with self._changed:
            while self._waiting and not self._gone and self._changed.wait(patience):
                pass

    def close(self) -> None:
        """Writes nothing more, and ends the thread once the client takes what it is being given."""
        with self._changed:
            self._forget()

    def _write_at_once(self, data: memoryview) -> int:
        written = 0
        try:
            while not self._gone and written < len(data) and self._is_ready():
                written += os.write(self._descriptor, data[written : written + _AT_ONCE])
        except BlockingIOError:
            return written
        except OSError as error:
            self._end(error)
        return written

    def _is_ready(self) -> bool:
        if sys.platform == "win32" or not _AT_ONCE:
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(0))

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_waiting, name="stdout", daemon=True)
            self._thread.start()

    def _write_waiting(self) -> None:
        while (data := self._next()) is not None:
            try:
                written = os.write(self._descriptor, data[:_PIECE])
            except BlockingIOError:
                # Input and output may be one socket, which reading has made non-blocking.
                select.select([], [self._descriptor], [])
                continue
            except OSError as error:
                with self._changed:
                    self._end(error)
                return
            self._advance(written)

    def _next(self) -> memoryview | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._gone)
            return None if self._gone else self._waiting[0]

    def _advance(self, written: int) -> None:
        with self._changed:
            if self._gone:
                return
            rest = self._waiting.popleft()[written:]
            if rest:
                self._waiting.appendleft(rest)
            self._left -= written
            self._weigh()
            self._changed.notify_all()

    def _weigh(self) -> None:
        held = self._left > (RELAXED if self._held else FULL)
        if held != self._held:
            self._held = held
            self._hold(held)

    def _end(self, error: OSError) -> None:
        self._forget()
        self._lose(error.strerror or str(error))

    def _forget(self) -> None:
        self._gone = True
        self._waiting.clear()
        self._changed.notify_all()
