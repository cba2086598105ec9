"""A user who is asked for permissions, for the examples."""

from collections.abc import Callable
from typing import Any

from support.workspace import as_json
from ullage.api.wire import REQUEST_PERMISSION
from ullage.model.permission import (
    PermissionAnswer,
    PermissionOutcome,
    PermissionOutcomeKind,
    RequestPermissionResult,
    ask_for,
    read_answer,
)
from ullage.model.updates import ToolCall


class Asked:
    """A client that permits each tool call, and keeps the questions and its answers."""

    def __init__(self, keep: Callable[[str, Any], None]) -> None:
        self._keep = keep

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        name = REQUEST_PERMISSION.name.replace("/", ".")
        allow = PermissionOutcome(outcome=PermissionOutcomeKind.SELECTED, option_id="allow_once")
        cancel = PermissionOutcome(outcome=PermissionOutcomeKind.CANCELLED)
        self._keep(f"{name}.params", as_json(ask_for(session_id, call)))
        self._keep(f"{name}.result", as_json(RequestPermissionResult(outcome=allow)))
        self._keep(f"{name}.cancelled.result", as_json(RequestPermissionResult(outcome=cancel)))
        return read_answer(RequestPermissionResult(outcome=allow))
