"""Asking the user for permission to make a tool call, in the shapes of the Agent Client Protocol v1."""

from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ullage.model.updates import ToolCall, ToolKind, ToolLocation, ToolStatus


class PermissionAnswer(StrEnum):
    """The user's answer to the question whether a tool call may be made. `allow_always` allows all calls of the tool
    while the session is open. `cancelled` ends the prompt turn."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    CANCELLED = "cancelled"


class PermissionKind(StrEnum):
    """The kinds of options that Ullage offers when it asks for permission, a subset of ACP's."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"


class PermissionOption(Struct, frozen=True, kw_only=True, rename="camel"):
    """One option of a permission request; `name` is its label."""

    option_id: str
    name: str
    kind: PermissionKind


class PermissionToolCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tool call for which permission is asked, with the fields of its `tool_call` update."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    locations: tuple[ToolLocation, ...] = ()
    raw_input: dict[str, Any] | UnsetType = UNSET


class RequestPermissionParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of the request by which the server asks the client's user whether a tool call may be made."""

    session_id: str
    tool_call: PermissionToolCall
    options: tuple[PermissionOption, ...]


class PermissionOutcomeKind(StrEnum):
    """Whether the user chose an option, or the prompt turn was cancelled before."""

    SELECTED = "selected"
    CANCELLED = "cancelled"


class PermissionOutcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """The user's choice. `optionId` is present if an option was selected."""

    outcome: PermissionOutcomeKind
    option_id: str | UnsetType = UNSET


class RequestPermissionResult(Struct, frozen=True, kw_only=True):
    """The client's result of a permission request."""

    outcome: PermissionOutcome


_OPTIONS = (
    PermissionOption(option_id="allow_once", name="Allow", kind=PermissionKind.ALLOW_ONCE),
    PermissionOption(option_id="allow_always", name="Always allow in this session", kind=PermissionKind.ALLOW_ALWAYS),
    PermissionOption(option_id="reject_once", name="Reject", kind=PermissionKind.REJECT_ONCE),
)


def ask_for(session_id: str, call: ToolCall) -> RequestPermissionParams:
    """Returns the params of the request that asks the user for permission to make a tool call. The options are allow
    once, allow always in this session, and reject."""
    asked = PermissionToolCall(
        tool_call_id=call.tool_call_id,
        title=call.title,
        kind=call.kind,
        status=call.status,
        locations=call.locations,
        raw_input=call.raw_input,
    )
    return RequestPermissionParams(session_id=session_id, tool_call=asked, options=_OPTIONS)


def read_answer(result: RequestPermissionResult) -> PermissionAnswer:
    """Returns the user's answer from the client's result. An option that was not offered counts as `reject_once`."""
    outcome = result.outcome
    if outcome.outcome is PermissionOutcomeKind.CANCELLED:
        return PermissionAnswer.CANCELLED
    known = {option.option_id: PermissionAnswer(option.kind) for option in _OPTIONS}
    return known.get(outcome.option_id or "", PermissionAnswer.REJECT_ONCE)
