"""What the server asks of a client, through its door: answers of the models that the client offers (with the methods
`models/*` by which it says what it offers), and whether a tool call may be made.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from itertools import count
from typing import Protocol, TypeVar

from msgspec import Struct

from ullage.api.protocol import COMPLETE, COUNT, REQUEST_PERMISSION
from ullage.api.session_methods import Nothing
from ullage.jsonrpc.envelope import BadReply
from ullage.model.answer import (
    EDITOR,
    CompleteParams,
    CompleteResult,
    CompletionFault,
    CountParams,
    CountResult,
    ModelPiece,
    OfferedModel,
    OfferedModels,
    Purpose,
    SpokenMessage,
)
from ullage.model.errors import (
    AnswerBroken,
    AuthenticationFailed,
    ContextTooLong,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from ullage.model.updates import PermissionAnswer, RequestPermissionResult, ToolCall, ask_for, read_answer
from ullage.service.conversation.workspace import Workspace

R = TypeVar("R")
# Seconds until the first piece: the editor may first ask its user whether Ullage may use the model.
_FIRST = 600.0
# Seconds of silence within an answer after which it is given up, as with providers that are asked by key.
_SILENCE = 120.0

# Seconds that a model which takes no more requests asks to wait. Editors don't say how long; a quota lasts for hours.
_NOT_SOON = 3600.0


class Ask(Protocol):
    """Sends a request to the client of a door. `RequestEngine.ask` is one."""

    async def __call__(self, method: str, params: Struct, result: type[R], /) -> R:
        """Returns the client's result, however long it takes. Cancelled with its task. Raises `BadReply`."""
        ...


class ClientModels:
    """The models of one client, for the port `EditorModels`. `prefix` is the door's prefix of method names."""

    def __init__(self, ask: Ask, prefix: str) -> None:
        self._ask = ask
        self._method = prefix + COMPLETE.name
        self._counting = prefix + COUNT.name
        self._offered = OfferedModels(editor="The editor", models=())
        self._numbers = count(1)
        # The pieces of the answers that are being written. None says that the client has answered the request.
        self._running: dict[str, asyncio.Queue[str | None]] = {}

    @property
    def editor(self) -> str:
        return self._offered.editor

    def offered(self, model: str) -> OfferedModel | None:
        own = model.removeprefix(EDITOR)
        return next((one for one in self._offered.models if model != own and one.id == own), None)

    def offer(self, models: OfferedModels) -> None:
        self._offered = models

    def take_piece(self, request_id: str, text: str) -> None:
        if (pieces := self._running.get(request_id)) is not None:
            pieces.put_nowait(text)

    async def stream(self, model: str, purpose: Purpose, messages: tuple[SpokenMessage, ...]) -> AsyncGenerator[str]:
        params = CompleteParams(
            request_id=str(next(self._numbers)), model=model.removeprefix(EDITOR), purpose=purpose, messages=messages
        )
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._running[params.request_id] = pieces
        asking = asyncio.ensure_future(self._ask(self._method, params, CompleteResult))
        asking.add_done_callback(lambda _: pieces.put_nowait(None))
        came = 0
        try:
            while (piece := await self._next(pieces, _SILENCE if came else _FIRST)) is not None:
                came += 1
                yield piece
            result = _result(asking, self.editor)
            # The answer to the request may come before the last pieces are taken.
            for _ in range(result.pieces - came):
                yield await self._next(pieces, _SILENCE) or ""
            if result.fault is not None:
                raise self._failure(model, result.fault, result.reason)
        finally:
            del self._running[params.request_id]
            asking.cancel()

    async def count(self, model: str, messages: tuple[SpokenMessage, ...]) -> int | None:
        params = CountParams(model=model.removeprefix(EDITOR), messages=messages)
        try:
            return (await self._ask(self._counting, params, CountResult)).tokens
        except BadReply:
            # A client of an earlier version doesn't know the request.
            return None

    async def _next(self, pieces: "asyncio.Queue[str | None]", seconds: float) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                return await pieces.get()
        except TimeoutError:
            raise ProviderUnavailable(f"{self.editor} was silent for {seconds:.0f} s.") from None

    def _failure(self, model: str, fault: CompletionFault, reason: str) -> ProviderError:
        known = self.offered(model)
        name = known.name if known else model.removeprefix(EDITOR)
        why = f" ({_line(reason)})" if reason else ""
        match fault:
            case CompletionFault.NO_PERMISSION:
                return AuthenticationFailed(
                    f"{self.editor} has not let Ullage use {name}; ask again and allow it, or choose another model."
                )
            case CompletionFault.BLOCKED:
                text = f"{name} takes no requests now{why}; try it later, or choose another model."
                return RateLimited(text, _NOT_SOON)
            case CompletionFault.NOT_FOUND:
                return RequestRefused(f"{self.editor} does not offer {name} any more; choose another model.")
            case CompletionFault.TOO_LONG:
                return ContextTooLong(f"{name} finds the prompt too long{why}.")
            case CompletionFault.FAILED:
                return AnswerBroken(f"{name} in {self.editor} gave no whole answer{why}; try again.")


async def offer(workspace: Workspace, params: OfferedModels) -> Nothing:
    """Takes the models that the client offers from now on; their limits hold at once."""
    if workspace.editor_models is not None:
        workspace.editor_models.offer(params)
        workspace.learn_limits()
    return Nothing()


async def take_piece(workspace: Workspace, params: ModelPiece) -> Nothing:
    """Takes the next piece of an answer that the server asked for."""
    if workspace.editor_models is not None:
        workspace.editor_models.take_piece(params.request_id, params.text)
    return Nothing()


def _result(asking: "asyncio.Future[CompleteResult]", editor: str) -> CompleteResult:
    try:
        return asking.result()
    except BadReply as error:
        raise AnswerBroken(f"{editor} could not ask its model: {_line(str(error))}") from error


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


_log = logging.getLogger(__name__)


class ClientPermissions:
    """Asks a client's user for permission to make a tool call, for the port `Permissions`. `prefix` is the door's
    prefix of method names. An answer that cannot be read counts as a refusal. `shown(session_id, call)` returns the
    tool call as this door sends it."""

    def __init__(
        self, ask: Ask, prefix: str, shown: Callable[[str, ToolCall], ToolCall] = lambda _, call: call
    ) -> None:
        self._ask = ask
        self._method = prefix + REQUEST_PERMISSION.name
        self._shown = shown

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        question = ask_for(session_id, self._shown(session_id, call))
        try:
            answer = await self._ask(self._method, question, RequestPermissionResult)
        except BadReply as error:
            _log.warning("The client did not answer %s: %s", self._method, error)
            return PermissionAnswer.REJECT_ONCE
        return read_answer(answer)
