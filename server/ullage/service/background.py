"""Work that is repeated in the background while a server runs."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager


@contextmanager
def repeated(step: Callable[[], Awaitable[float]], first: float) -> Generator[None]:
    """Repeats a step on the running event loop while the block runs: after `first` seconds, and then each time after as
    many as the step returns. A step that works in a thread when the block ends is completed there."""

    async def repeat() -> None:
        pause = first
        while True:
            await asyncio.sleep(pause)
            pause = await step()

    task = asyncio.get_running_loop().create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
