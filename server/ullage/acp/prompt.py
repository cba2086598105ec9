"""`session/prompt` and `session/cancel`."""

import asyncio
from collections.abc import Callable
from typing import Any

from ullage.acp.announce import Announcer
from ullage.acp.commands import CommandScene, Invocation, find_command
from ullage.api import session_methods as api
from ullage.model.errors import UllageError
from ullage.service.ports import MemoryFiles
from ullage.service.workspace import Workspace

_END_TURN, _CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}


class PromptHandlers:
    """The handlers of one connection. Slash commands run here, everything else is asked of the model."""

    def __init__(
        self, workspace: Callable[[], Workspace], announcer: Announcer, memory: Callable[[str], MemoryFiles]
    ) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._memory = memory
        self._commands: dict[str, set[asyncio.Task[str]]] = {}

    async def prompt(self, params: api.PromptParams) -> Any:
        """Answers when the turn is over."""
        workspace = self._workspace()
        workspace.session(params.session_id)
        invocation = find_command(params.prompt)
        if invocation is None:
            return await api.prompt(workspace, params)
        return await self._run(params.session_id, invocation)

    async def cancel(self, params: api.SessionParams) -> None:
        """Stops whatever runs in the session; what was asked is answered `cancelled`."""
        for task in self._commands.get(params.session_id, ()):
            task.cancel()
        self._workspace().cancel(params.session_id)

    async def _run(self, session_id: str, invocation: Invocation) -> Any:
        scene = CommandScene(workspace=self._workspace(), session_id=session_id, memory=self._memory)
        task = asyncio.get_running_loop().create_task(_answer(scene, invocation))
        running = self._commands.setdefault(session_id, set())
        running.add(task)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            running.discard(task)
            if not running:
                self._commands.pop(session_id, None)
        if task.cancelled():
            return _CANCELLED
        self._announcer.say(session_id, task.result())
        return _END_TURN


async def _answer(scene: CommandScene, invocation: Invocation) -> str:
    """What the command says, or why it cannot: a person asked, and reads it where an answer would stand."""
    try:
        return await invocation.command.run(scene, invocation.argument)
    except UllageError as error:
        return str(error)
