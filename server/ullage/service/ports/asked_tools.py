"""Port of looking up: how a door has the tools answer that search and read a conversation."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct


class LookedUp(Struct, frozen=True, kw_only=True):
    """What a tool found: a text for a model or a user, at most 4 KB of UTF-8, in which everything that was said is
    quoted. `is_error` says that the text says what was wrong with the call."""

    text: str
    is_error: bool = False


class LooksUp(Protocol):
    """Has the tools of the MCP server answer about a session."""

    async def __call__(self, session_id: str, tool: str, arguments: Mapping[str, Any], /) -> LookedUp:
        """Returns what the tool named `tool` finds in the session. Raises `SessionNotFound`, and `InvalidRequest` if
        there is no such tool."""
        ...
