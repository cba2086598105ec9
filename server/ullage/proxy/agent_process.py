"""The agent behind the proxy: its process, or in a chain the next link, which a conductor reaches.

Both exchange lines with it and send it the proxy's own requests. The shapes of a chain are those of `proxy/initialize`
and `proxy/successor` in the unstable schema of ACP's SDK 2.4.0. A conductor sends `proxy/initialize` in place of
`initialize`. A message to or from the successor is wrapped in `proxy/successor`, and an answer is the answer to that
request. So every message keeps its id: the conductor's ids differ from each other whichever side they come from.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET

from ullage.jsonrpc.envelope import INVALID_REQUEST, ErrorObject, ErrorResponse, Notification, Request, RequestId
from ullage.model.errors import AgentError
from ullage.model.json_values import as_text
from ullage.proxy.lines import Frame, LineCutter, Outlet, Piece, fields, line, peek, unwrapped, with_field
from ullage.system.processes import GRACE, AgentProcess, start_agent

# The beginning of the ids of the proxy's own requests. Clients use numbers or UUIDs, so no client's id begins so.
_PREFIX = "ullage-proxy-"
# Seconds that an agent may take to answer a request of the proxy: time for a slow model to summarize a full context.
PATIENCE = 600.0
# A function that is called with the exit reason once it is known how an agent ended.
FailPending = Callable[[str], object]
_INITIALIZE, _CANCEL = "initialize", "$/cancel_request"
_PROXY_INITIALIZE, _SUCCESSOR = "proxy/initialize", "proxy/successor"
_NO_SUCCESSOR = ErrorObject(
    code=INVALID_REQUEST,
    message="Ullage is a proxy in this chain, so an agent must follow it; or start `ullage acp` without --in-chain",
)


class Agent:
    """The agent's process, which can be started again after it has ended.

    `receive` is called with each piece of the agent's output, in order. `ended` is called when the output ends, unless
    `stop` was called; it returns a function that is then called with the exit reason.
    """

    def __init__(
        self,
        command: Sequence[str],
        receive: Callable[[Piece], Awaitable[None]],
        ended: Callable[[], FailPending],
    ) -> None:
        self.command = tuple(command)
        self._receive = receive
        self._ended = ended
        self._process: AgentProcess | None = None
        self._outlet: Outlet | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked = 0
        self._waiting: dict[RequestId, asyncio.Future[Frame]] = {}
        self._stopping = False

    @property
    def alive(self) -> bool:
        """Whether the process runs and its output has not ended."""
        return self._outlet is not None

    async def start(self) -> None:
        """Starts the process and begins to read its output. Raises `InvalidRequest` if the program can't be started."""
        process = await start_agent(self.command)
        self._process, self._outlet = process, Outlet(process.sink)
        self._reading = asyncio.ensure_future(self._read(process))

    def pass_on(self, piece: Piece) -> None:
        """Forwards a piece of the client's output to the agent. It is dropped if no process runs."""
        if self._outlet is not None:
            self._outlet.pass_on(piece)

    def notify(self, method: str, params: Any) -> None:
        """Sends the agent a notification of the proxy's own. It is dropped if no process runs."""
        if self._outlet is not None:
            self._outlet.insert(line(Notification(method=method, params=params)))

    def insert(self, data: bytes) -> None:
        """Sends the agent a whole line that the client did not write. It is dropped if no process runs."""
        if self._outlet is not None:
            self._outlet.insert(data)

    async def drain(self) -> None:
        """Waits until the agent has read enough for more to be written. Returns at once if no process runs."""
        if self._outlet is not None:
            await self._outlet.drain()

    async def request(self, method: str, params: Any) -> dict[str, Any]:
        """Sends the agent a request of the proxy's own, and waits for the answer. Returns its result as a JSON object.

        Raises `AgentError` if the agent does not run, answers with an error, ends, or takes longer than 600 seconds.
        """
        if self._outlet is None:
            raise AgentError("the agent is not running")
        self._asked += 1
        frame_id = f"{_PREFIX}{self._asked}"
        future = self._waiting[frame_id] = asyncio.get_running_loop().create_future()
        self._outlet.insert(line(Request(id=frame_id, method=method, params=params)))
        try:
            async with asyncio.timeout(PATIENCE):
                frame = await future
        except TimeoutError:
            raise AgentError(f"the agent did not answer {method} within {PATIENCE:.0f} seconds") from None
        finally:
            self._waiting.pop(frame_id, None)
        if memoryview(frame.error):
            raise AgentError(f"the agent refused {method}: {as_text(fields(frame.error).get('message'))}")
        return fields(frame.result)

    def takes(self, frame: Frame) -> bool:
        """Returns whether the frame answers a request of the proxy's own. If so, the frame becomes the result of that
        `request`."""
        if not (isinstance(frame.id, str) and frame.id.startswith(_PREFIX)):
            return False
        future = self._waiting.get(frame.id)
        if future is not None and not future.done():
            future.set_result(frame)
        return True

    async def stop(self) -> None:
        """Ends the process, so that the program can end. `ended` is not called."""
        self._stopping = True
        if self._process is not None:
            await self._process.stop()
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=GRACE)

    async def _read(self, process: AgentProcess) -> None:
        cutter = LineCutter()
        while data := await process.source.read():
            for piece in cutter.feed(data):
                await self._receive(piece)
        for piece in cutter.end():
            await self._receive(piece)
        await self._end(process)

    async def _end(self, process: AgentProcess) -> None:
        # A process whose output has ended is useless, even if it still runs. Another may be started before it has
        # ended.
        self._process = self._outlet = None
        waiting, self._waiting = self._waiting, {}
        fail_pending = None if self._stopping else self._ended()
        if fail_pending is not None:
            await process.stop()
        how = await process.ended()
        for future in waiting.values():
            if not future.done():
                future.set_exception(AgentError(f"the agent ended ({how})"))
        if fail_pending is not None:
            fail_pending(how)


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
            return Piece(with_field(piece.data, "method", _INITIALIZE))
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
        frame = peek(data)
        if frame is None:
            # Not a message, so it can't be wrapped.
            return
        if frame.method is UNSET:
            self._asked_by.discard(frame.known_id)
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
