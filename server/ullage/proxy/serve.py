"""Puts the proxy together: the client's two streams, the agent and the recorder."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from functools import partial

from ullage.model.errors import UllageError
from ullage.proxy.agent_process import Agent, FailPending, Successor
from ullage.proxy.agent_side import from_agent
from ullage.proxy.client_side import from_client
from ullage.proxy.connection import Connection, ProxyOptions
from ullage.proxy.lines import LineCutter, Outlet, Piece
from ullage.proxy.opening import agent_ended
from ullage.proxy.record import Recorder, Store
from ullage.proxy.recording import record_messages
from ullage.proxy.session import Sessions
from ullage.proxy.to_client import NoticeListener, send_unrecorded
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import DescriptorWriter, Source, client_is_gone, open_source

log = logging.getLogger(__name__)


async def serve_proxy(
    commands: Sequence[Sequence[str]], store: Store, options: ProxyOptions, stdin: int, stdout: int
) -> int:
    """Starts the first agent of those with these commands, and serves the client on two file descriptors until the
    client closes its end. Returns the exit status, 0.

    Raises `InvalidRequest` if the agent can't be started.
    """
    proxy = Proxy(commands, store, options, Outlet(DescriptorWriter(stdout)))
    watching = asyncio.ensure_future(client_is_gone(stdin, stdout))
    await proxy.connection.agent.start()
    await proxy.run(await open_source(stdin), watching)
    return 0


class Proxy:
    """Connects one client with one agent: forwards the lines of both and records the sessions.

    Without a command the agent is the successor in a chain, which a conductor reaches on the client's streams. With
    several agents, the others continue conversations of the first, and are started then. The caller starts the
    first agent. An error in handling one line is logged, and later lines are still forwarded.
    """

    def __init__(self, commands: Sequence[Sequence[str]], store: Store, options: ProxyOptions, client: Outlet) -> None:
        opens = Store(prepare=store.prepare, open=lambda: self._listened(store.open()))
        recorder = Recorder(opens, lambda reason: send_unrecorded(self.sessions, reason))
        agents: list[Connection] = []
        for command in commands:
            number = len(agents)
            agent = Agent(command, partial(self._from_agent, number), partial(self._agent_ended, number))
            Connection(client, agent, recorder, options, agents)
        self._successor: Successor | None = None
        if not agents:
            self._successor = Successor(client, partial(self._from_agent, 0), partial(self._agent_ended, 0))
            Connection(client, self._successor, recorder, options, agents)
        self.connection = agents[0]
        self.sessions = Sessions(self.connection)
        self._reading: asyncio.Task[None] | None = None

    async def run(self, source: Source, *others: "asyncio.Future[str]") -> None:
        """Forwards the client's lines until its stream ends, or one of `others`, or an agent that only gets its lines
        forwarded. Then ends the agent, records the remaining messages and closes the output."""
        self._reading = asyncio.ensure_future(self._read(source))
        try:
            await asyncio.wait([self._reading, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (self._reading, *others):
                waiting.cancel()
        for session in self.sessions:
            session.holds.cancel_all()
        for connection in self.connection.agents:
            await connection.agent.stop()
        for session in self.sessions:
            await session.holds.ended()
            await record_messages(session, self.sessions.drop(session))
        await self.connection.recorder.close()
        await self.connection.client.close()

    async def _read(self, source: Source) -> None:
        cutter = LineCutter()
        while data := await source.read():
            for piece in cutter.feed(data):
                await self._from_client(piece)
        for piece in cutter.end():
            await self._from_client(piece)

    async def _from_client(self, piece: Piece) -> None:
        if self._successor is not None:
            await self._guarded(self._from_conductor(self._successor, piece))
        else:
            await self._take_from_client(piece)

    async def _from_conductor(self, successor: Successor, piece: Piece) -> None:
        own = await successor.receive(piece)
        if own is not None:
            await self._take_from_client(own)

    async def _take_from_client(self, piece: Piece) -> None:
        if self.connection.only_forwards:
            self.connection.agent.pass_on(piece)
            await self.connection.agent.drain()
        else:
            await self._guarded(from_client(self.sessions, piece))

    async def _from_agent(self, number: int, piece: Piece) -> None:
        if self.connection.only_forwards and number == 0:
            self.connection.client.pass_on(piece)
            await self.connection.client.drain()
        else:
            await self._guarded(from_agent(self.sessions, self.connection.agents[number], piece))

    async def _guarded(self, passing: Awaitable[None]) -> None:
        try:
            await passing
        except UllageError as error:
            log.warning("%s", error)
        except Exception:
            # A fault of the proxy with one message must not end the conversation.
            log.exception("A message was not handled")

    def _agent_ended(self, number: int) -> FailPending:
        if self.connection.only_forwards and number == 0 and self._reading is not None:
            # The proxy can neither answer the client nor start the agent again, so it ends as the agent has.
            self._reading.cancel()
            return _nothing_pending
        return agent_ended(self.sessions, self.connection.agents[number])

    def _listened(self, workspace: Workspace) -> Workspace:
        workspace.bus.listen(NoticeListener(self.sessions))
        return workspace


def _nothing_pending(_: str) -> None:
    """The client has no request that the proxy would answer."""
