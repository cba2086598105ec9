"""The modes of a session, and the tool by which the model offers to leave the mode `plan`.

A mode lasts as long as the session is open in this process, as permissions do.
"""

from enum import StrEnum

from msgspec import Struct

from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import ToolAbout


class Mode(StrEnum):
    """`ask`: the model may use every tool, and the user is asked before it changes anything. `plan`: only tools that
    read."""

    ASK = "ask"
    PLAN = "plan"


class SessionMode(Struct, frozen=True, kw_only=True):
    """ACP's `SessionMode`: a mode, with the name and description that the client shows."""

    id: Mode
    name: str
    description: str


class SessionModeState(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SessionModeState`: the mode that a session is in, and all modes."""

    current_mode_id: Mode
    available_modes: tuple[SessionMode, ...]


MODES = (
    SessionMode(id=Mode.ASK, name="Ask", description="Use every tool; ask before one that is not Ullage's own."),
    SessionMode(id=Mode.PLAN, name="Plan", description="Only read, and end with a plan that you can accept."),
)
OFFER_PLAN = ToolDefinition(
    name="offer_plan",
    description=(
        "Asks the user to accept the plan that you have just written in your answer. If they do, you may use all tools "
        "and are to carry the plan out."
    ),
    input_schema={"type": "object", "properties": {}},
)
ABOUT_OFFER = ToolAbout(title="Carry out this plan", kind=ToolKind.SWITCH_MODE)
PLANNING = (
    "You are in the mode `plan`: only look, change nothing. When you know what is to be done, write the plan in your "
    f"answer and call {OFFER_PLAN.name}."
)
ACCEPTED = "The user accepts the plan and has left the mode `plan`. Carry the plan out now."


def mode_state(mode: Mode) -> SessionModeState:
    """Returns the modes as a client is sent them, with the one that a session is in."""
    return SessionModeState(current_mode_id=mode, available_modes=MODES)
