"""Asks a client's user for permission, through either door."""

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from ullage.api.wire import REQUEST_PERMISSION
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.updates import PermissionAnswer, RequestPermissionResult, ToolCall, ask_for, read_answer

_log = logging.getLogger(__name__)
R = TypeVar("R")


class Ask(Protocol):
    """Sends a request to the client of a door. `RequestEngine.ask` is one."""

    async def __call__(self, method: str, params: Struct, result: type[R], /) -> R:
        """Returns the client's result, however long it takes. If the task is cancelled, the request is cancelled.
        Raises `BadReply`."""
        ...


def _as_it_is(_: str, call: ToolCall) -> ToolCall:
    return call


class ClientPermissions:
    """Asks a client's user for permission to make a tool call, for the port `Permissions`. `prefix` is the door's
    prefix of method names. An answer that cannot be read counts as a refusal. `shown(session_id, call)` returns the
    tool call as this door sends it."""

    def __init__(self, ask: Ask, prefix: str, shown: Callable[[str, ToolCall], ToolCall] = _as_it_is) -> None:
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
