"""An event loop in a thread of its own, so that plain code can call the service, whether or not it runs in a loop
itself."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack
from threading import Thread, current_thread
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines, and owns what they need. Code that runs in the loop must not call `run`, `call` or `enter`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._entered = ExitStack()
        self._thread = Thread(target=self._serve, name="ullage", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and returns its result. An interrupt of the caller cancels the coroutine."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        finally:
            running.cancel()

    def call(self, work: Callable[[], T]) -> T:
        """Calls plain code in the loop's thread and returns its result."""

        async def called() -> T:
            return work()

        return self.run(called())

    def enter(self, opened: Callable[[], AbstractContextManager[T]]) -> T:
        """Enters a context manager in the thread and returns its value. The context manager is left in the thread
        when the thread ends."""
        return self.call(lambda: self._entered.enter_context(opened()))

    def stop(self) -> None:
        """Ends the thread and waits for its end, unless it is called in that thread by the garbage collector."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
        if current_thread() is not self._thread:
            self._thread.join()

    def _serve(self) -> None:
        with self._entered:
            self._loop.run_forever()
        self._loop.close()
