"""The agent's process: exchanges lines with it, and sends it the proxy's own requests."""

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
