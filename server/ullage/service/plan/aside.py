"""Long pure work in a thread, abandoned when its result is no longer needed."""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Event
from typing import TypeVar

from ullage.summary.checks import Check

T = TypeVar("T")


async def aside(work: Callable[[Check], T]) -> T:
    """Runs `work` in a thread and returns its result, so that the event loop stays free. If the awaiting task is
    cancelled, the check that `work` was given raises at its next call. Otherwise the thread would go on and take the
    processor from the event loop."""
    given_up = Event()

    def check() -> None:
        if given_up.is_set():
            raise CancelledError

    try:
        return await asyncio.to_thread(work, check)
    finally:
        given_up.set()
