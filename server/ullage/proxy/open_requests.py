"""Requests that wait for an answer."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ullage.jsonrpc.envelope import RequestId
from ullage.proxy.pipe.frames import Frame
from ullage.proxy.pipe.lines import Piece


class Pending(Struct, frozen=True, kw_only=True):
    """A request of the client that the agent has not answered yet.

    `answered` is called with the answer and forwards it. If `answered` is None, the answer is forwarded unchanged.
    `is_in` is true if the client has the answer of another agent, so that it must not get one of this agent.
    """

    method: str
    is_in: bool = False
    params: dict[str, Any] = {}
    answered: Callable[[Piece, Frame], Awaitable[None]] | None = None


class Asked(Struct, frozen=True, kw_only=True):
    """A request of the agent that the client has not answered yet. `session_id` is the agent's id of the session, and
    `terminal_id` names a terminal of the client's; each is "" if the request names none. `request_id` is the agent's
    id of the request."""

    method: str
    request_id: RequestId | None = None
    session_id: str = ""
    terminal_id: str = ""
