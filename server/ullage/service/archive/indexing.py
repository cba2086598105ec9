"""Indexes messages in the background, so that a search meets a complete index.

The work is done in the store's steps of tens of milliseconds, each in a thread, with pauses between them. A search
waits for no more than a step, and an append for no more than a step's short write.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from ullage.model.errors import StoreError
from ullage.service.background import repeated
from ullage.service.conversation.environment import Environment

log = logging.getLogger(__name__)
# Seconds until the first step: an editor that starts has other work first.
_FIRST = 5.0
# Seconds between two looks for messages while nothing is left. A look at a complete index reads a few rows.
_EVERY = 5.0
# The pause after a step, as a multiple of its time, so that a large store takes a fifth of one processor.
_REST = 4.0


def indexing(workspace: Environment, first: float = _FIRST, every: float = _EVERY) -> AbstractContextManager[None]:
    """Indexes the store's messages in the background while the block runs."""

    async def step() -> float:
        """Indexes some messages. Returns the seconds until the next step."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            left = await asyncio.to_thread(workspace.ports.store.index_some)
        except StoreError as error:
            # Another program may hold the file; a search would say the same.
            log.warning("Could not index the store: %s", error)
            left = 0
        return _REST * (loop.time() - started) if left else every

    return repeated(step, first)


async def index_session(workspace: Environment, session_id: str, tell: Callable[[int], object]) -> None:
    """Indexes all messages of a session, inherited ones included. Calls `tell` with the number of records left after
    each step but the last. Raises `StoreError`."""
    while left := await asyncio.to_thread(workspace.ports.store.index_some, session_id):
        tell(left)
