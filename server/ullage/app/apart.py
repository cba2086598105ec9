"""Runs long work of coroutines apart from the event loop that answers requests."""

import asyncio
from asyncio import AbstractEventLoop, Task
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar

T = TypeVar("T")


async def run_apart(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs the coroutine that `make` returns in a thread, on an event loop of its own, and returns its result.

    If the awaiting task is cancelled, so is the coroutine: it ends where it next waits, in that thread.
    """
    work = _Work(make)
    try:
        return await asyncio.to_thread(work.run)
    except asyncio.CancelledError:
        work.give_up()
        raise


class _Work(Generic[T]):
    """A coroutine that one thread runs and another one may cancel."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make
        self._lock = Lock()
        self._running: tuple[AbstractEventLoop, Task[Any]] | None = None
        self._is_given_up = False

    def run(self) -> T:
        """Runs the coroutine to its end. Raises `CancelledError` if it was given up."""
        return asyncio.run(self._main())

    def give_up(self) -> None:
        """Cancels the coroutine, now or when it begins. May be called from any thread."""
        with self._lock:
            self._is_given_up = True
            if self._running is not None:
                loop, task = self._running
                # A loop that has ended is closed.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(task.cancel)

    async def _main(self) -> T:
        task = asyncio.current_task()
        with self._lock:
            if self._is_given_up or task is None:
                raise asyncio.CancelledError
            self._running = asyncio.get_running_loop(), task
        return await self._make()
