"""The agent's process: forwards lines to and from it, and sends it the proxy's own requests."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ullage.jsonrpc.envelope import Notification, Request, RequestId
from ullage.model.errors import AgentError
from ullage.model.json_values import as_text
from ullage.proxy.pipe.frames import Frame, fields, line
from ullage.proxy.pipe.lines import LineCutter, Piece
from ullage.proxy.pipe.outlet import Outlet
from ullage.system.agent_process import GRACE, AgentProcess, start_agent

# The beginning of the ids of the proxy's own requests. Clients use numbers or UUIDs, so no client's id begins so.
_PREFIX = "ullage-proxy-"
# Seconds that an agent may take to answer a request of the proxy: time for a slow model to summarize a full context.
PATIENCE = 600.0

# A function that is called with the exit reason once it is known how an agent ended.
FailPending = Callable[[str], object]


class Agent:
    """One agent, which can be started again after it has ended.

    `receive` gets the agent's output line by line. `ended` is called when the output ends, unless `stop` was called; it
    returns a function that is then called with the exit reason.
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
        return self._process is not None

    async def start(self) -> None:
        """Starts the process. Raises `InvalidRequest` if the program can't be started."""
        process = await start_agent(self.command)
        self._process, self._outlet = process, Outlet(process.sink)
        self._reading = asyncio.ensure_future(self._read(process))

    def pass_on(self, piece: Piece) -> None:
        """Forwards bytes from the client. They are dropped if no process runs."""
        if self._outlet is not None:
            self._outlet.pass_on(piece)

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification of the proxy's own."""
        if self._outlet is not None:
            self._outlet.insert(line(Notification(method=method, params=params)))

    def insert(self, data: bytes) -> None:
        """Sends a whole line that the client did not write."""
        if self._outlet is not None:
            self._outlet.insert(data)

    async def drain(self) -> None:
        """Waits until the agent has read enough for more to be written."""
        if self._outlet is not None:
            await self._outlet.drain()

    async def request(self, method: str, params: Any) -> dict[str, Any]:
        """Sends a request of the proxy's own. Returns its result.

        Raises `AgentError` if the agent refuses, ends, or takes longer than `PATIENCE`.
        """
        if self._outlet is None:
            raise AgentError("the agent is not running")
        self._asked += 1
        frame_id = f"{_PREFIX}{self._asked}"
        future = self._waiting[frame_id] = asyncio.get_running_loop().create_future()
        self._outlet.insert(line(Request(id=frame_id, method=method, params=params)))
        try:
            frame = await asyncio.wait_for(future, PATIENCE)
        except TimeoutError:
            raise AgentError(f"the agent did not answer {method} within {PATIENCE:.0f} seconds") from None
        finally:
            self._waiting.pop(frame_id, None)
        if memoryview(frame.error):
            raise AgentError(f"the agent refused {method}: {as_text(fields(frame.error).get('message'))}")
        return fields(frame.result)

    def takes(self, frame: Frame) -> bool:
        """Takes an answer to a request of the proxy's own.

        Returns False if the frame is the answer to another request.
        """
        if not (isinstance(frame.id, str) and frame.id.startswith(_PREFIX)):
            return False
        future = self._waiting.get(frame.id)
        if future is not None and not future.done():
            future.set_result(frame)
        return True

    async def stop(self) -> None:
        """Ends the process for good."""
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
