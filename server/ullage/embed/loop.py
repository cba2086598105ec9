"""An event loop in a thread of its own, so that plain code can call the service, whatever loop it runs in itself."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack
from threading import Thread, current_thread
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines, and owns what they need. What runs in it must not call `run`, `call` or `enter`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._entered = ExitStack()
        self._thread = Thread(target=self._serve, name="ullage", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. An interrupt of the caller cancels it."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        finally:
            running.cancel()

    def call(self, work: Callable[[], T]) -> T:
        """The result of plain code that must run in the loop's thread."""

        async def called() -> T:
            return work()

        return self.run(called())

    def enter(self, opened: Callable[[], AbstractContextManager[T]]) -> T:
        """What a context manager gives, opened in the thread, and closed in it when it ends."""
        return self.call(lambda: self._entered.enter_context(opened()))

    def stop(self) -> None:
        """Ends the thread; waits for that unless it is the thread itself that collects garbage."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
        if current_thread() is not self._thread:
            self._thread.join()

    def _serve(self) -> None:
        with self._entered:
            self._loop.run_forever()
        self._loop.close()
