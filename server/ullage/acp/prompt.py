"""The handlers of `session/prompt` and `session/cancel`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from ullage.acp.announce import Announcer
from ullage.api import session_methods as api
from ullage.api.prompt_commands import Invocation, find_command, run_command
from ullage.model.answer import TurnEnd
from ullage.model.errors import UllageError
from ullage.model.usage import Usage
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace


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


class _Running(Struct, kw_only=True, eq=False):
    """The prompts of one session that have not ended. `counted` are the tokens of the session's requests that earlier
    answers contain."""

    counted: Usage
    tasks: set[asyncio.Task[TurnEnd]] = field(default_factory=set["asyncio.Task[TurnEnd]"])

    def take(self, totals: Usage) -> Usage:
        """Returns the tokens since the last call. Turns run one after the other, so they are those of the turn that
        ends now."""
        took, self.counted = totals - self.counted, totals
        return took


class PromptHandlers:
    """The handlers of `session/prompt` and `session/cancel` for one connection. Slash commands of Ullage are run here,
    all other prompts are sent to the model."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._running: dict[str, _Running] = {}

    async def prompt(self, params: api.PromptParams) -> PromptResponse:
        """Serves `session/prompt`: runs the prompt and returns the stop reason of its turn once the turn has ended. The
        answer of a slash command is sent as an update. Raises `SessionNotFound`, and the errors of the model."""
        workspace, session_id = self._workspace(), params.session_id
        conversation = workspace.open(session_id)
        invocation = find_command(params.prompt)
        if invocation is not None:
            return PromptResponse(stop_reason=await self._run(conversation, self._command(session_id, invocation)))
        running = self._running_in(conversation)
        try:
            with self._announcer.answering(session_id):
                end = await self._run(conversation, _ask(workspace, params))
        finally:
            took = running.take(_totals(conversation))
        return PromptResponse(stop_reason=end, usage=_usage(took) if took.total > 0 else UNSET)

    async def cancel(self, params: api.SessionParams) -> None:
        """Serves `session/cancel`: cancels the session's running work, and the prompts that wait for it. All its
        prompts are answered with the stop reason `cancelled`."""
        session_id = params.session_id
        self._workspace().cancel(session_id)
        running = self._running.get(session_id)
        for task in running.tasks if running else ():
            # Once: a second cancellation would interrupt the end of a turn.
            if not task.cancelling():
                task.cancel()

    async def _command(self, session_id: str, invocation: Invocation) -> TurnEnd:
        self._announcer.send_text(session_id, await _answer(self._workspace(), session_id, invocation))
        return TurnEnd.END_TURN

    def _running_in(self, conversation: Conversation) -> _Running:
        found = self._running.get(conversation.id)
        return found or self._running.setdefault(conversation.id, _Running(counted=_totals(conversation)))

    async def _run(self, conversation: Conversation, work: Coroutine[Any, Any, TurnEnd]) -> TurnEnd:
        """Waits for the work and returns its result, or `CANCELLED` if `session/cancel` stopped it. If the request
        itself is cancelled, the work is cancelled, too."""
        task = asyncio.get_running_loop().create_task(work)
        running = self._running_in(conversation)
        running.tasks.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            running.tasks.discard(task)
            if not running.tasks:
                self._running.pop(conversation.id, None)
        return TurnEnd.CANCELLED if task.cancelled() else task.result()


async def _ask(workspace: Workspace, params: api.PromptParams) -> TurnEnd:
    return (await api.prompt(workspace, params)).stop_reason


def _totals(conversation: Conversation) -> Usage:
    return conversation.projection.tracker.totals


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
