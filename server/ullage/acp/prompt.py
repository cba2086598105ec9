"""The handlers of `session/prompt` and `session/cancel`, in both versions of the protocol.

In version 1 a prompt is answered when its turn ends. In version 2 the answer says that the prompt is in the transcript,
and a `state_update` says what follows.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from ullage.acp.announce import UPDATE_METHOD, Announcer
from ullage.acp.connection import AcpConnection
from ullage.api import session_methods as api
from ullage.api.context_methods import Invocation, find_command, run_command
from ullage.api.engine import Reply
from ullage.jsonrpc.peer import cancelled
from ullage.model.answer import TurnEnd
from ullage.model.errors import UllageError
from ullage.model.json_values import JsonObject, as_plain
from ullage.model.updates import UserMessageChunk
from ullage.model.usage import Usage
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace

# Seconds that `session/close` waits for turns that it has cancelled.
_PATIENCE = 10.0
_RUNNING: JsonObject = {"state": "running"}
_BLOCKED: JsonObject = {"state": "requires_action"}


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
        """Returns the tokens since the last call. Turns run one after the other, so they belong to the turn that
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


class Inserted(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `PromptResponse`: the prompt is in the transcript under this id."""

    message_id: str


class _Prompt(Struct, kw_only=True, eq=False):
    """A prompt of the client. `inserted` gets its message's id, and `answered` is set once the client has it."""

    content: tuple[JsonObject, ...]
    inserted: "asyncio.Future[str]"
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class PromptLife:
    """Serves the prompts of one connection as version 2 has them: each is answered once it is in the transcript, and
    its session is `running` until the last one has ended."""

    def __init__(
        self,
        workspace: Callable[[], Workspace],
        connection: AcpConnection,
        announcer: Announcer,
        turns: PromptHandlers,
    ) -> None:
        self._workspace = workspace
        self._connection = connection
        self._announcer = announcer
        self._turns = turns
        # Those that are not in the transcript yet, in the order in which they get there.
        self._waiting: dict[str, list[_Prompt]] = {}
        self._running: dict[str, set[asyncio.Task[None]]] = {}
        announcer.on_prompt = self._insert

    async def prompt(self, params: api.PromptParams) -> Reply:
        """Serves `session/prompt`. Raises `SessionNotFound`, and the errors of a prompt that does not get into the
        transcript."""
        self._workspace().open(params.session_id)
        prompt = _Prompt(content=params.prompt, inserted=asyncio.get_running_loop().create_future())
        self._waiting.setdefault(params.session_id, []).append(prompt)
        turn = self._connection.start_turn(self._turn(params, prompt))
        self._begin(params.session_id, turn)
        try:
            await asyncio.wait([turn, prompt.inserted], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # A prompt that is in the transcript gets its answer, and its turn continues.
            if not _is_in(prompt):
                turn.cancel()
                raise
        finally:
            if not prompt.inserted.done():
                prompt.inserted.cancel()
                self._withdraw(params.session_id, prompt)
                prompt.answered.set()
        if prompt.inserted.cancelled():
            # The turn raises why.
            await turn
            raise cancelled()
        return Reply(Inserted(message_id=prompt.inserted.result()), prompt.answered.set)

    def show_state(self, session_id: str) -> None:
        self._send(session_id, _RUNNING if self._running.get(session_id) else {"state": "idle"})

    async def ended(self, session_id: str) -> None:
        """Returns once the session's turns have ended, which were cancelled before, or after 10 seconds."""
        if turns := self._running.get(session_id):
            await asyncio.wait(turns, timeout=_PATIENCE)

    @contextmanager
    def blocked(self, session_id: str) -> Generator[None]:
        """Says, during the block, that the session's turn waits for the user."""
        self._send(session_id, _BLOCKED)
        try:
            yield
        finally:
            if self._running.get(session_id):
                self._send(session_id, _RUNNING)

    async def _turn(self, params: api.PromptParams, prompt: _Prompt) -> None:
        """Runs a prompt as version 1 does. Then sends the session's state if no other prompt runs. Raises the error of
        a prompt that is not in the transcript."""
        session_id, ended = params.session_id, {"stopReason": "cancelled"}
        if find_command(params.prompt):
            # A command is no message of the transcript, so its id is made here.
            self._accept(session_id, prompt, self._workspace().ports.ids.new("m"))
        try:
            ended = as_plain(await self._turns.prompt(params))
        except Exception as error:
            ended = {"stopReason": "error", "error": as_plain(self._connection.error_of(error))}
            if not _is_in(prompt):
                raise
        finally:
            try:
                if _is_in(prompt):
                    # So that no client waits for a turn that has ended.
                    await prompt.answered.wait()
            finally:
                self._end(session_id, ended)

    def _insert(self, session_id: str, update: UserMessageChunk) -> None:
        """Sends the message that has just become part of the session: the client's first waiting prompt, which is
        answered now, or text of another door's method."""
        waiting = self._waiting.get(session_id)
        if waiting:
            self._accept(session_id, waiting[0], update.message_id)
        else:
            self._echo(session_id, update.message_id, [as_plain(update.content)])

    def _withdraw(self, session_id: str, prompt: _Prompt) -> None:
        waiting = self._waiting[session_id]
        waiting.remove(prompt)
        if not waiting:
            del self._waiting[session_id]

    def _accept(self, session_id: str, prompt: _Prompt, message_id: str) -> None:
        self._withdraw(session_id, prompt)
        prompt.inserted.set_result(message_id)
        self._echo(session_id, message_id, prompt.content)

    def _echo(self, session_id: str, message_id: str, content: Sequence[Any]) -> None:
        said = {"sessionUpdate": "user_message", "messageId": message_id, "content": content}
        self._connection.notify(UPDATE_METHOD, {"sessionId": session_id, "update": said})

    def _begin(self, session_id: str, turn: "asyncio.Task[None]") -> None:
        running = self._running.setdefault(session_id, set())
        if not running:
            self._send(session_id, _RUNNING)
        running.add(turn)

    def _end(self, session_id: str, ended: JsonObject) -> None:
        turn, running = asyncio.current_task(), self._running.get(session_id, set())
        if turn is not None:
            running.discard(turn)
        if not running:
            self._running.pop(session_id, None)
            self._send(session_id, {"state": "idle", **ended})

    def _send(self, session_id: str, state: JsonObject) -> None:
        said = {"sessionUpdate": "state_update", **state}
        self._connection.notify(UPDATE_METHOD, {"sessionId": session_id, "update": said})


def _is_in(prompt: _Prompt) -> bool:
    return prompt.inserted.done() and not prompt.inserted.cancelled()
