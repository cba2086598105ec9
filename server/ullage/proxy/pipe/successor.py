"""The agent of a proxy in a chain: the next link, which a conductor reaches, on the connection with the client.

The shapes are those of `proxy/initialize` and `proxy/successor` in the unstable schema of ACP's SDK 2.4.0. A conductor
sends `proxy/initialize` in place of `initialize`. A message to or from the successor is wrapped in `proxy/successor`,
and an answer is the answer to that request. So every message keeps its id: the conductor's ids differ from each other
whichever side they come from.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET

from ullage.jsonrpc.envelope import ErrorResponse, Notification, Request, RequestId
from ullage.jsonrpc.rpc_errors import INVALID_REQUEST, ErrorObject
from ullage.model.json_values import as_text
from ullage.proxy.pipe.agent import Agent, FailPending
from ullage.proxy.pipe.frames import Frame, fields, line, peek, unwrapped, with_method
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.pipe.outlet import Outlet

_INITIALIZE, _CANCEL = "initialize", "$/cancel_request"
_PROXY_INITIALIZE, _SUCCESSOR = "proxy/initialize", "proxy/successor"
_NO_SUCCESSOR = ErrorObject(
    code=INVALID_REQUEST,
    message="Ullage is a proxy in this chain, so an agent must follow it; or start `ullage acp` without --in-chain",
)


class Successor(Agent):
    """The next link of the chain, used as the agent. It needs no start, and its end is the conductor's affair."""

    def __init__(
        self,
        client: Outlet,
        receive: Callable[[Piece], Awaitable[None]],
        ended: Callable[[], FailPending],
    ) -> None:
        super().__init__(("successor",), receive, ended)
        self._client = client
        # The ids of the requests to the successor that are not answered.
        self._open: set[RequestId | None] = set()
        # The ids of the successor's requests that are not answered.
        self._asked_by: set[RequestId | None] = set()

    async def start(self) -> None:
        """Begins to wrap what is written to the agent. Returns at once."""
        self._outlet = Outlet(_Wrapped(self._write, self._client))

    async def stop(self) -> None:
        """Does nothing, because the conductor ends the successor."""

    async def receive(self, piece: Piece) -> Piece | None:
        """Takes a line of the conductor. If the line is the successor's, handles it as a line of the agent and returns
        None. Otherwise returns the line as the client's."""
        frame = peek(piece.data) if piece.whole else None
        if frame is None:
            return piece
        if frame.method == _PROXY_INITIALIZE:
            return Piece(with_method(piece.data, _INITIALIZE))
        if frame.method == _INITIALIZE:
            self._refuse(frame)
            return None
        inner = self._from_successor(piece, frame)
        if inner is None:
            return piece
        await self._receive(inner)
        return None

    def _refuse(self, frame: Frame) -> None:
        if frame.id is not UNSET:
            self._client.insert(line(ErrorResponse(id=frame.id, error=_NO_SUCCESSOR)))

    def _from_successor(self, piece: Piece, frame: Frame) -> Piece | None:
        """Returns the message of the successor in a line of the conductor, or None if the line is the client's."""
        if frame.method == _SUCCESSOR:
            if frame.id is not UNSET:
                self._asked_by.add(frame.id)
            return Piece(unwrapped(piece.data))
        if frame.method is UNSET and frame.id is not UNSET and frame.id in self._open:
            self._open.discard(frame.id)
            return piece
        if frame.method == _CANCEL and _cancelled(frame) in self._asked_by:
            return piece
        return None

    def _write(self, data: bytes) -> None:
        """Sends the conductor a line for the successor."""
        frame = peek(data)
        if frame is None:
            # Not a message, so it can't be wrapped.
            return
        if frame.method is UNSET:
            self._asked_by.discard(None if frame.id is UNSET else frame.id)
            self._client.insert(data)
        elif frame.method == _CANCEL:
            # Names the request on this connection, and is not wrapped.
            if _cancelled(frame) in self._open:
                self._client.insert(data)
        else:
            self._client.insert(line(self._wrapped(frame)))

    def _wrapped(self, frame: Frame) -> Request | Notification:
        params: dict[str, Any] = {"method": as_text(frame.method)}
        if memoryview(frame.params):
            params["params"] = frame.params
        if frame.id is UNSET or frame.id is None:
            return Notification(method=_SUCCESSOR, params=params)
        self._open.add(frame.id)
        return Request(id=frame.id, method=_SUCCESSOR, params=params)


class _Wrapped:
    """A sink that gives each line to a function."""

    def __init__(self, write: Callable[[bytes], None], client: Outlet) -> None:
        self._write = write
        self._client = client
        self._begun: list[bytes] = []

    @property
    def has_room(self) -> bool:
        return self._client.has_room

    def write(self, data: bytes) -> None:
        self._begun.append(data)
        if data.endswith(b"\n"):
            whole, self._begun = b"".join(self._begun), []
            for one in whole.splitlines(keepends=True):
                self._write(one)

    async def drain(self) -> None:
        await self._client.drain()

    async def flush(self, patience: float) -> None:
        """Does nothing, because the client's outlet is flushed."""

    def close(self) -> None:
        """Does nothing, because the client's outlet is closed."""


def _cancelled(frame: Frame) -> Any:
    """Returns the id of the request that a cancellation names, or "" if that is no id."""
    request_id = fields(frame.params).get("requestId")
    return "" if isinstance(request_id, list | dict) else request_id
