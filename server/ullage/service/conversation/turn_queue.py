"""Who is at work in which session: running turns, prompts that wait for theirs, answers being written."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any


class _Place:
    """A prompt's place in the queue. A `dismissed` one does not get its turn."""

    def __init__(self) -> None:
        self.dismissed = False


class TurnQueue:
    """One turn per session at a time, the others in the order they came. `replayed` are sessions that a recording
    answers in, `managed` those whose provider clears old tool uses itself, `permitted` the tools that the person always
    allows, by session."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Task[Any]] = {}
        self.replayed: set[str] = set()
        self.managed: set[str] = set()
        self.permitted: dict[str, set[str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._places: dict[str, list[_Place]] = {}
        self._answering: set[str] = set()

    @asynccontextmanager
    async def turn(self, session_id: str) -> AsyncGenerator[bool]:
        """Waits until the session is free and holds it. False for a prompt that was dismissed while it waited."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        place = _Place()
        self._places.setdefault(session_id, []).append(place)
        try:
            async with lock:
                yield not place.dismissed
        finally:
            self._places[session_id].remove(place)
            if not self._places[session_id]:
                del self._places[session_id], self._locks[session_id]

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
        """Stops the running turn. Once: a second time would break off what the turn does to end in order."""
        run = self.running.get(session_id)
        if run is not None and not run.cancelling():
            run.cancel()

    async def end(self, session_id: str) -> None:
        """Stops the running turn, dismisses the prompts that wait, and returns when the turn is over."""
        for place in self._places.get(session_id, ()):
            place.dismissed = True
        self.cancel(session_id)
        if session_id in self.running:
            await asyncio.wait([self.running[session_id]])
        self.replayed.discard(session_id)
        self.managed.discard(session_id)
        self.permitted.pop(session_id, None)
