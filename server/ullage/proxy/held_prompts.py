"""The prompts of one session that the proxy holds, each handled by a task of its own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Struct

from ullage.jsonrpc.envelope import RequestId
from ullage.proxy.connection import Connection

# Seconds that the end of the proxy waits for the prompts that it holds.
_PATIENCE = 10.0


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of the client: the id of the request, its line, and its content blocks in ACP's form. `changed` is true
    if the agent gets other content, and `is_in` if the client has its answer, so that it must not get another: version
    2 answers a prompt before the agent works on it, and may refuse it afterwards."""

    id: RequestId | None
    line: bytes
    content: list[Any]
    changed: bool = False
    is_in: bool = False


class HeldPrompts:
    """The tasks that handle held prompts. `order` is the lock of the one that runs, so that one runs at a time; a task
    that opens the session again holds it, too. True while there are any, or while the lock is held."""

    def __init__(self, connection: Connection) -> None:
        self.order = asyncio.Lock()
        self._connection = connection
        self._tasks: dict[asyncio.Task[None], RequestId | None] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks) or self.order.locked()

    @property
    def has_others(self) -> bool:
        """Whether prompts are held besides the one that the current task handles."""
        current = asyncio.current_task()
        return any(task is not current for task in self._tasks)

    def add(
        self, prompt_id: RequestId | None, handling: Coroutine[Any, Any, None], cancelled: Callable[[], object]
    ) -> None:
        """Runs the coroutine `handling` of the prompt in a task. `cancelled` is called if the task is cancelled before
        the prompt is forwarded."""
        task = self._connection.spawn(handling)

        def ended(_: "asyncio.Task[None]") -> None:
            if task in self._tasks:
                del self._tasks[task]
                if task.cancelled():
                    cancelled()

        self._tasks[task] = prompt_id
        task.add_done_callback(ended)

    def leave(self) -> None:
        """Removes the running task, because its prompt is about to be forwarded. From then on, a cancellation of the
        prompt is forwarded to the agent."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.pop(task, None)

    async def ended(self) -> None:
        """Returns once no prompt is held, or after 10 seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_PATIENCE)

    def cancel_all(self) -> bool:
        """Cancels all held prompts. Returns whether there were any."""
        for task in self._tasks:
            task.cancel()
        return bool(self._tasks)

    def cancel(self, prompt_id: RequestId | None) -> bool:
        """Cancels the held prompt of this id. Returns whether there was one."""
        found = [task for task, known_id in self._tasks.items() if known_id == prompt_id]
        for task in found:
            task.cancel()
        return bool(found)
