"""Writes bytes to a client or an agent: in order, without loss, and without blocking the event loop.

The descriptor stays in blocking mode, because it may be shared with other programs (a terminal, a socket that is both
input and output), which would otherwise get errors. So at once only as much is written as a pipe or socket is sure to
accept; a thread writes the rest. The caller keeps memory bounded: while `has_room` is false, it makes no more data and
waits in `drain`.
"""

import asyncio
import contextlib
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

# Bytes that a ready pipe accepts without blocking. POSIX' PIPE_BUF is at least 512; pipes of Linux and macOS are
# reported ready once they have room for 4,096.
_AT_ONCE = 4096
# Bytes that the thread writes at a time. Small, so that the count of waiting bytes stays current.
_PIECE = 1 << 16
# Waiting bytes at which `has_room` turns false, and at which it turns true again: a few large answers.
FULL, RELAXED = 1 << 22, 1 << 20


class Writer(Protocol):
    """Takes bytes and writes them to a client or an agent in order, without blocking the event loop."""

    @property
    def has_room(self) -> bool:
        """Whether the caller should write more. False while over 1 to 4 MiB wait to be taken by the reader."""
        ...

    def write(self, data: bytes) -> None:
        """Takes all of the data, to be written after the data before it, and returns at once."""
        ...

    async def drain(self) -> None:
        """Waits until `has_room` is true, or until the reader is gone."""
        ...


class Sink(Writer, Protocol):
    """A `Writer` that its owner can flush and close."""

    async def flush(self, patience: float) -> None:
        """Waits until all data is written, or until the reader has taken nothing for `patience` seconds."""
        ...

    def close(self) -> None:
        """Closes the writer. Waiting data is still written; data of later writes is dropped."""
        ...


class DescriptorWriter:
    """A `Sink` that writes to a descriptor and owns it. It must be used in the event loop in which it was made.

    If the reader is gone, `lost` is called once with the reason, and data of later writes is dropped.
    """

    def __init__(self, descriptor: int, lost: Callable[[str], object] | None = None) -> None:
        self._descriptor = descriptor
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._is_ready = _readiness_of(descriptor)
        self._room = asyncio.Event()
        self._room.set()
        self._waiting: deque[memoryview] = deque()
        self._left = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._gone = False
        self._closing = False

    @property
    def has_room(self) -> bool:
        """Whether the caller should write more. Becomes false when over 4 MiB wait for the reader, and true again at 1
        MiB."""
        return self._room.is_set()

    def write(self, data: bytes) -> None:
        """Takes all of the data and returns at once. After `close`, or if the reader is gone, the data is dropped."""
        with self._changed:
            if self._gone or self._closing:
                return
            rest = memoryview(data)
            if not self._waiting:
                rest = rest[self._write_at_once(rest) :]
            if rest and not self._gone:
                self._waiting.append(rest)
                self._left += len(rest)
                self._start()
                self._changed.notify_all()
                if self._left > FULL:
                    self._room.clear()

    async def drain(self) -> None:
        """Waits until `has_room` is true, or until the reader is gone."""
        await self._room.wait()

    async def flush(self, patience: float) -> None:
        """Waits until all data is written, or until the reader has taken nothing for `patience` seconds."""
        if self._waiting:
            await asyncio.to_thread(self._flush, patience)

    def close(self) -> None:
        """Closes the writer.

        Waiting data is still written, then the descriptor is closed; data of later writes is dropped.
        """
        with self._changed:
            if self._closing:
                return
            self._closing = True
            if self._thread is None:
                os.close(self._descriptor)
            self._changed.notify_all()

    def _flush(self, patience: float) -> None:
        with self._changed:
            while self._waiting and not self._gone and self._changed.wait(patience):
                pass

    def _write_at_once(self, data: memoryview) -> int:
        written = 0
        try:
            while written < len(data) and self._is_ready is not None and self._is_ready():
                written += os.write(self._descriptor, data[written : written + _AT_ONCE])
        except BlockingIOError:
            return written
        except OSError as error:
            self._fail(error)
        return written

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_waiting, name="writer", daemon=True)
            self._thread.start()

    def _write_waiting(self) -> None:
        while (data := self._next()) is not None:
            try:
                written = os.write(self._descriptor, data[:_PIECE])
            except BlockingIOError:
                # Input and output may be one socket, which the reading side has made non-blocking.
                _wait_until_ready(self._descriptor)
                continue
            except OSError as error:
                with self._changed:
                    self._fail(error)
                continue
            self._advance(written)
        os.close(self._descriptor)

    def _next(self) -> memoryview | None:
        """Waits for data to write and returns the first piece; `_advance` removes what was written. Returns None if the
        writer is closed and no data is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return self._waiting[0] if self._waiting else None

    def _advance(self, written: int) -> None:
        with self._changed:
            rest = self._waiting.popleft()[written:]
            if rest:
                self._waiting.appendleft(rest)
            was_full = self._left > RELAXED
            self._left -= written
            self._changed.notify_all()
            if was_full and self._left <= RELAXED:
                self._call(self._check_room)

    def _check_room(self) -> None:
        # This runs in the loop, where more may have been written since.
        if self._left <= RELAXED:
            self._room.set()

    def _fail(self, error: OSError) -> None:
        self._gone = True
        self._waiting.clear()
        self._left = 0
        self._changed.notify_all()
        self._call(self._report, error.strerror or str(error))

    def _report(self, reason: str) -> None:
        self._room.set()
        if self._lost is not None:
            self._lost(reason)

    def _call(self, function: Callable[..., object], *args: object) -> None:
        # The loop may be closed already, because the thread keeps writing at the end of the program.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)


def _wait_until_ready(descriptor: int) -> None:
    # On Windows a descriptor is never in non-blocking mode.
    if sys.platform != "win32":
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        poll.poll()


def _readiness_of(descriptor: int) -> Callable[[], bool] | None:
    """Returns a function that returns whether a write to the descriptor would return at once. Returns None if that
    can't be known.

    It can't be known for a terminal, which may block in the middle of a write although it is ready, and on Windows,
    which has no `poll`.
    """
    mode = os.fstat(descriptor).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)):
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return lambda: bool(poll.poll(0))
