"""The model's plan: a tool by which the model writes its list of tasks, and the update that shows the list."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ullage.acp.updates import PlanEntry, PlanUpdate
from ullage.model.errors import InvalidRequest
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import ToolAbout

# More entries than anyone reads.
_MOST = 100
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "What is to be done, in a few words."},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    "priority": {"type": "string", "enum": ["high", "medium", "low"]},
                },
                "required": ["content", "status"],
            },
        }
    },
    "required": ["entries"],
}
UPDATE_PLAN = ToolDefinition(
    name="update_plan",
    description=(
        "Shows the user your list of tasks for work of several steps. Send the whole list whenever a task begins or is "
        "done."
    ),
    input_schema=_SCHEMA,
)


class _Entry(Struct, frozen=True, kw_only=True):
    """One task as the model writes it."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"] = "medium"


class _Input(Struct, frozen=True, kw_only=True):
    """Input of the tool `update_plan`: the whole list."""

    entries: tuple[_Entry, ...]


ABOUT_PLAN = ToolAbout(title="Update the plan", kind=ToolKind.THINK)


def read_plan(given: dict[str, Any]) -> PlanUpdate:
    """Returns the update for the list that a call's input holds. Raises `InvalidRequest` if it holds none."""
    try:
        entries = msgspec.convert(given, _Input).entries
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{UPDATE_PLAN.name}: {error}") from None
    shown = entries[:_MOST]
    return PlanUpdate(
        entries=tuple(PlanEntry(content=one.content, priority=one.priority, status=one.status) for one in shown)
    )
