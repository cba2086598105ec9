"""Records in the background, job by job in order, so that forwarding is not delayed.

If the store fails, recording ends with a notice. The client and its agent continue.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from ullage.model.errors import UllageError
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
# Jobs that may wait before `put` waits too. The fastest replay of an agent is some hundred messages, and memory stays
# bounded.
_MOST_WAITING = 256
Job = Callable[[Workspace], Awaitable[None]]


class Store(Struct, frozen=True):
    """How the workspace is opened: `prepare` is called in a thread, because it takes long, then `open` returns the
    workspace."""

    prepare: Callable[[], object]
    open: Callable[[], Workspace]


class Recorder:
    """Runs recording jobs one after another. A job gets the workspace.

    `failed` is called once with the reason if the store fails; no job runs after that. `workspace` is None before the
    first job and after a failure.
    """

    def __init__(self, store: Store, failed: Callable[[str], object]) -> None:
        self._store = store
        self._failed = failed
        self._jobs: asyncio.Queue[Job] = asyncio.Queue(_MOST_WAITING)
        self._task = asyncio.ensure_future(self._run())
        self._broken = False
        self.workspace: Workspace | None = None

    async def put(self, job: Job) -> None:
        """Adds a job, which runs after the jobs before it. Returns at once, unless 256 jobs wait already."""
        await self._jobs.put(job)

    async def opened(self) -> Workspace | None:
        """Waits for all jobs so far and returns the workspace, which is opened if no job has opened it yet.

        Returns None if the store failed.
        """
        await self._jobs.put(_nothing)
        return await self.settled()

    async def settled(self) -> Workspace | None:
        """Waits for all jobs so far and returns the workspace.

        Returns None if the store failed or no job has run yet.
        """
        await self._jobs.join()
        return None if self._broken else self.workspace

    async def close(self) -> None:
        """Waits for all jobs so far, then ends the recorder's task. The workspace is not closed."""
        await self._jobs.join()
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                if not self._broken:
                    await job(await self._open())
            except UllageError as error:
                log.warning("The conversation is no longer recorded: %s", error)
                self._broken, self.workspace = True, None
                self._failed(str(error))
            except Exception:
                # A message that can't be recorded must stop neither the conversation nor later messages.
                log.exception("A message was not recorded")
            finally:
                self._jobs.task_done()

    async def _open(self) -> Workspace:
        if self.workspace is None:
            await asyncio.to_thread(self._store.prepare)
            self.workspace = self._store.open()
        return self.workspace


async def _nothing(_: Workspace) -> None:
    pass
