"""Who is at work in which session: running turns, prompts that wait for theirs, answers being written."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any


class TurnQueue:
    """One turn per session at a time, the others in the order they came."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Future[Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting = Counter[str]()
        self._answering: set[str] = set()

    @asynccontextmanager
    async def turn(self, session_id: str) -> AsyncGenerator[None]:
        """Waits until the session is free and holds it."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        self._waiting[session_id] += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[session_id] -= 1
            if not self._waiting[session_id]:
                self._locks.pop(session_id)
                del self._waiting[session_id]

    @contextmanager
    def answering(self, session_id: str) -> Generator[None]:
        """While the model writes."""
        self._answering.add(session_id)
        try:
            yield
        finally:
            self._answering.discard(session_id)

    def is_answering(self, session_id: str) -> bool:
        """Whether an answer is being written, during which nothing is compacted by itself."""
        return session_id in self._answering

    def cancel(self, session_id: str) -> None:
        """Stops the running turn."""
        run = self.running.get(session_id)
        if run is not None:
            run.cancel()
