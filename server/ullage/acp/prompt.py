"""The handlers of `session/prompt` and `session/cancel`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ullage.acp.announce import Announcer
from ullage.acp.commands import CommandScene, Invocation, find_command
from ullage.api import session_methods as api
from ullage.model.errors import UllageError
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import MemoryFiles

_END_TURN, _CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}


class PromptHandlers:
    """The prompt handlers of one connection. Slash commands run here, all other prompts go to the model."""

    def __init__(
        self, workspace: Callable[[], Workspace], announcer: Announcer, memory: Callable[[str], MemoryFiles]
    ) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._memory = memory
        self._running: dict[str, set[asyncio.Task[Any]]] = {}

    async def prompt(self, params: api.PromptParams) -> Any:
        """Runs a prompt and returns how its turn ended."""
        workspace, session_id = self._workspace(), params.session_id
        workspace.open(session_id)
        invocation = find_command(params.prompt)
        if invocation is None:
            return await self._run(session_id, api.prompt(workspace, params))
        return await self._run(session_id, self._command(session_id, invocation))

    async def cancel(self, params: api.SessionParams) -> None:
        """Cancels the work in the session. The prompts that are running are answered with the stop reason
        `cancelled`."""
        workspace, session_id = self._workspace(), params.session_id
        workspace.cancel(session_id)
        # A running turn ends in order by itself. A turn that has not begun and a command have only their task to
        # cancel.
        if not workspace.is_prompted(session_id):
            for task in self._running.get(session_id, ()):
                task.cancel()

    async def _command(self, session_id: str, invocation: Invocation) -> Any:
        scene = CommandScene(workspace=self._workspace(), session_id=session_id, memory=self._memory)
        self._announcer.send_text(session_id, await _answer(scene, invocation))
        return _END_TURN

    async def _run(self, session_id: str, work: Coroutine[Any, Any, Any]) -> Any:
        """Returns the result of the work, or the stop reason `cancelled` if `session/cancel` stopped it. Cancelling
        the request cancels the work, too."""
        task = asyncio.get_running_loop().create_task(work)
        running = self._running.setdefault(session_id, set())
        running.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            running.discard(task)
            if not running:
                self._running.pop(session_id, None)
        return _CANCELLED if task.cancelled() else task.result()


async def _answer(scene: CommandScene, invocation: Invocation) -> str:
    """Returns the command's answer or the text of its error: the user reads an error in the place of the answer."""
    try:
        return await invocation.command.run(scene, invocation.argument)
    except UllageError as error:
        return str(error)
