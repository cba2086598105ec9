"""The handlers of `session/prompt` and `session/cancel`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ullage.acp.announce import Announcer
from ullage.api import session_methods as api
from ullage.api.prompt_commands import Invocation, find_command, run_command
from ullage.model.answer import TurnEnd
from ullage.model.errors import UllageError
from ullage.model.usage import Usage
from ullage.service.conversation.workspace import Workspace

_END_TURN, _CANCELLED = {"stopReason": "end_turn"}, {"stopReason": "cancelled"}


class PromptUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `Usage`: the tokens of a prompt turn's requests. `input_tokens` excludes the tokens read from or written to
    the cache, and `thought_tokens` are part of `output_tokens`. It says nothing of how full the context is."""

    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int
    cached_read_tokens: int
    cached_write_tokens: int


class PromptResponse(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `PromptResponse`. `usage` is left out if the provider reported none. It is not in ACP's stable schema yet;
    clients that do not know it ignore it."""

    stop_reason: TurnEnd
    usage: PromptUsage | UnsetType = UNSET


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
            return await self._run(session_id, _prompt(workspace, params))
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


async def _prompt(workspace: Workspace, params: api.PromptParams) -> PromptResponse:
    """Sends the prompt to the model and returns the answer, with the tokens that its turn took."""
    before = _totals(workspace, params.session_id)
    end = (await api.prompt(workspace, params)).stop_reason
    took = _totals(workspace, params.session_id) - before
    return PromptResponse(stop_reason=end, usage=_usage(took) if took.total > 0 else UNSET)


def _totals(workspace: Workspace, session_id: str) -> Usage:
    return workspace.open(session_id).projection.tracker.totals


def _usage(took: Usage) -> PromptUsage:
    return PromptUsage(
        total_tokens=took.total,
        input_tokens=took.input_tokens,
        output_tokens=took.output_tokens,
        thought_tokens=took.reasoning_tokens,
        cached_read_tokens=took.cache_read_input_tokens,
        cached_write_tokens=took.cache_creation_input_tokens,
    )


async def _answer(workspace: Workspace, session_id: str, invocation: Invocation) -> str:
    """Returns the slash command's answer, or the text of its error, because the user reads an error where the answer
    would be."""
    try:
        return await run_command(workspace, session_id, invocation)
    except UllageError as error:
        return str(error)
