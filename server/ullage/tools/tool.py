"""What one tool is: its definition, what is said of a call, and how a call is made."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ullage.model.message import ToolDefinition
from ullage.service.ports.models import ToolAbout, ToolOutcome


class Call(Struct, frozen=True, kw_only=True):
    """One call: the session it is made in, that session's folder, and the input as the model wrote it."""

    session_id: str
    cwd: str
    input: dict[str, Any]


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. `about` never fails, whatever the input; `run` raises `UllageError` for what the model can do
    otherwise."""

    definition: ToolDefinition
    about: Callable[[dict[str, Any]], ToolAbout]
    run: Callable[[Call], Awaitable[ToolOutcome]]
