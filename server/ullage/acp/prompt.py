"""The handlers of `session/prompt` and `session/cancel`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ullage.acp.announce import Announcer
from ullage.api import session_methods as api
from ullage.api.prompt_commands import Invocation, find_command, run_command
from ullage.model.errors import UllageError
from ullage.service.conversation.workspace import Workspace

_END_TURN, _CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}


class PromptHandlers:
    """The handlers of `session/prompt` and `session/cancel` for one connection. Slash commands of Ullage are run here,
    all other prompts are sent to the model."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._running: dict[str, set[asyncio.Task[Any]]] = {}

    async def prompt(self, params: api.PromptParams) -> Any:
        """Serves `session/prompt`: runs the prompt and returns the stop reason of its turn once the turn has ended. The
        answer of a slash command is sent as an update. Raises `SessionNotFound`, and the errors of the model."""
        workspace, session_id = self._workspace(), params.session_id
        workspace.open(session_id)
        invocation = find_command(params.prompt)
        if invocation is None:
            return await self._run(session_id, api.prompt(workspace, params))
        return await self._run(session_id, self._command(session_id, invocation))

    async def cancel(self, params: api.SessionParams) -> None:
        """Serves `session/cancel`: cancels the running prompts and compaction of the session. The prompts are answered
        with the stop reason `cancelled`."""
        workspace, session_id = self._workspace(), params.session_id
        workspace.cancel(session_id)
        # A running turn ends in order by itself. A turn that has not begun and a command have only their task to
        # cancel.
        if not workspace.is_prompted(session_id):
            for task in self._running.get(session_id, ()):
                task.cancel()

    async def _command(self, session_id: str, invocation: Invocation) -> Any:
        self._announcer.send_text(session_id, await _answer(self._workspace(), session_id, invocation))
        return _END_TURN

    async def _run(self, session_id: str, work: Coroutine[Any, Any, Any]) -> Any:
        """Waits for the work and returns its result, or the stop reason `cancelled` if `session/cancel` stopped it. If
        the request itself is cancelled, the work is cancelled, too."""
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


async def _answer(workspace: Workspace, session_id: str, invocation: Invocation) -> str:
    """Returns the slash command's answer, or the text of its error, because the user reads an error where the answer
    would be."""
    try:
        return await run_command(workspace, session_id, invocation)
    except UllageError as error:
        return str(error)
