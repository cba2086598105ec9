"""One tool: its definition, the description of a call for the user, and the function that runs a call."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ullage.model.message import ToolDefinition
from ullage.service.ports.models import ToolAbout, ToolOutcome


class Call(Struct, frozen=True, kw_only=True):
    """One call of a tool: the session in which it is made, that session's folder, and the input as the model wrote it.
    Of a call that reads files, `cwd` is the folder that it may not leave."""

    session_id: str
    cwd: str
    input: dict[str, Any]


class Tool(Struct, frozen=True, kw_only=True):
    """One tool that a model may call. `about` describes a call for the user and never fails, whatever the input. `run`
    runs a call, and raises `UllageError` if it fails; the model reads the error's text. `reads` says that the tool
    looks at files, and so must be asked for where the user wants to be asked."""

    definition: ToolDefinition
    about: Callable[[dict[str, Any]], ToolAbout]
    run: Callable[[Call], Awaitable[ToolOutcome]]
    reads: bool = False
