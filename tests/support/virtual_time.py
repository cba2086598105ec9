"""An event loop whose time passes only while everything waits, so that a test of pauses takes no time."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any


class _Jumping(selectors.SelectSelector):
    """A selector that moves the time on in place of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits for ever"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at the time 1,000 s. What is given to a thread is done at once."""

    def __init__(self) -> None:
        self._clock = _Jumping()
        self._clock.now = 1_000.0
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the caller gets it when it waits
            done.set_exception(error)
        return done
