"""Asks a client for permission, by whichever door it came."""

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from ullage.api.asking import REQUEST_PERMISSION
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.permission import PermissionAnswer, RequestPermissionResult, ask_for, read_answer
from ullage.model.updates import ToolCall

_log = logging.getLogger(__name__)
R = TypeVar("R")


class Ask(Protocol):
    """A door's way to ask its client. Raises `BadReply`."""

    async def __call__(self, method: str, params: Struct, result: type[R], /) -> R:
        """The client's answer, however long it takes; the question is taken back when the task is cancelled."""
        ...


def _as_it_is(_: str, call: ToolCall) -> ToolCall:
    return call


class ClientPermissions:
    """Asks by the method's name with the door's `prefix`, and reads the answer. An answer that cannot be read counts as
    a refusal. `shown` gives a session's tool call as this door shows it to its client."""

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
