"""Long pure work beside the event loop, given up when nobody waits for it any more."""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Event
from typing import TypeVar

from ullage.summary.checks import Check

T = TypeVar("T")


async def aside(work: Callable[[Check], T]) -> T:
    """What `work` returns, done in a thread so that the event loop stays free. When this is cancelled, the check that
    the work was given raises: a thread that went on for nobody would take the processor from the event loop, and from
    the next that needs it."""
    given_up = Event()

    def check() -> None:
        if given_up.is_set():
            raise CancelledError

    try:
        return await asyncio.to_thread(work, check)
    finally:
        given_up.set()
