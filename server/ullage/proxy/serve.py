"""The proxy, put together: the client's two streams, the agent, and the record."""

import logging
from collections.abc import Awaitable, Sequence

from ullage.model.errors import UllageError
from ullage.proxy.agent_side import from_agent
from ullage.proxy.client_side import from_client
from ullage.proxy.connection import Connection, ProxyOptions
from ullage.proxy.pipe.agent import Agent, Mourn
from ullage.proxy.pipe.lines import LineCutter, Piece
from ullage.proxy.pipe.outlet import Outlet
from ullage.proxy.record.learning import record_messages
from ullage.proxy.record.recorder import Recorder, Store
from ullage.proxy.recovery import lose
from ullage.proxy.telling import ClientListener, tell_unrecorded
from ullage.service.conversation.workspace import Workspace
from ullage.system.source import Source, open_source
from ullage.system.writer import DescriptorWriter

log = logging.getLogger(__name__)


async def serve_proxy(command: Sequence[str], store: Store, options: ProxyOptions, stdin: int, stdout: int) -> int:
    """Stands between a client on these descriptors and the agent that the command starts, until the client goes. The
    exit status. Raises `InvalidRequest` where the agent cannot be started."""
    proxy = Proxy(command, store, options, Outlet(DescriptorWriter(stdout)))
    await proxy.connection.agent.start()
    await proxy.run(await open_source(stdin))
    return 0


class Proxy:
    """Ties the parts together; what they share is in the connection."""

    def __init__(self, command: Sequence[str], store: Store, options: ProxyOptions, client: Outlet) -> None:
        agent = Agent(command, self._hear, self._lost)
        opens = Store(prepare=store.prepare, open=lambda: self._listened(store.open()))
        recorder = Recorder(opens, lambda reason: tell_unrecorded(self.connection, reason))
        self.connection = Connection(client, agent, recorder, options)

    async def run(self, source: Source) -> None:
        """Passes on what the client says until it ends, then ends the agent."""
        cutter = LineCutter()
        while data := await source.read():
            for piece in cutter.feed(data):
                await self._take(piece)
        for piece in cutter.end():
            await self._take(piece)
        await self.connection.agent.stop()
        for session in self.connection.sessions.values():
            await record_messages(self.connection, session, tuple(session.turn.end()))
        await self.connection.recorder.close()
        await self.connection.client.close()

    async def _take(self, piece: Piece) -> None:
        await self._guarded(from_client(self.connection, piece))

    async def _hear(self, piece: Piece) -> None:
        await self._guarded(from_agent(self.connection, piece))

    async def _guarded(self, passing: Awaitable[None]) -> None:
        try:
            await passing
        except UllageError as error:
            log.warning("%s", error)
        except Exception:
            # A fault of ours over one message must not end the conversation.
            log.exception("a message could not be seen to")

    def _lost(self) -> Mourn:
        return lose(self.connection)

    def _listened(self, workspace: Workspace) -> Workspace:
        workspace.bus.listen(ClientListener(self.connection))
        return workspace
