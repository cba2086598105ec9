"""Puts the proxy together: the client's two streams, the agent and the recorder. Handles lines from the agent: forwards
them to the client unchanged and records what they report.

What is no message goes to standard error. Lines that belong to the proxy's own turns, to asides and to its own requests
are not forwarded.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.api.protocol import UPDATE
from ullage.jsonrpc.envelope import METHOD_NOT_FOUND, ErrorObject, ErrorResponse, Response
from ullage.model.errors import UllageError
from ullage.model.json_values import as_text
from ullage.proxy.agent_process import Agent, FailPending, Successor
from ullage.proxy.answers import answers_of
from ullage.proxy.client_side import from_client
from ullage.proxy.compactions import is_of_compaction
from ullage.proxy.connection import Asked, Connection, ProxyOptions
from ullage.proxy.lines import Frame, LineCutter, Outlet, Piece, fields, line, peek, with_id, with_params
from ullage.proxy.opening import agent_ended, early_session
from ullage.proxy.prompts import complete
from ullage.proxy.record import Recorder, Store
from ullage.proxy.recording import record_messages, record_update
from ullage.proxy.session import ProxiedSession, Sessions
from ullage.proxy.to_client import NoticeListener, offer_commands, send_unrecorded, send_update
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import DescriptorWriter, Source, client_is_gone, open_source

_CANCEL = "$/cancel_request"
log = logging.getLogger(__name__)
_NOT_NOW = ErrorObject(code=METHOD_NOT_FOUND, message="The context is being compacted; use no tools.")


class _Sent(Struct, frozen=True, rename="camel"):
    session_id: str = ""
    update: Raw = Raw(b"{}")
    terminal_id: str = ""


_sent = msgspec.json.Decoder(_Sent)


async def from_agent(sessions: Sessions, connection: Connection, piece: Piece) -> None:
    """Handles one piece of an agent's output: a line, or a piece of a long line. Returns when the client has room for
    more. What is no message never reaches the client."""
    client = connection.client
    frame = peek(piece.data) if piece.whole else None
    if piece.is_text or (piece.whole and not (_has_objects(piece.data) if frame is None else frame.says_something)):
        # Such as a warning of npx, a line of a log in JSON or a question on a terminal. A client that reads messages
        # may end at it.
        sys.stderr.buffer.write(piece.data)
        sys.stderr.buffer.flush()
    elif frame is None:
        client.pass_on(piece)
    elif frame.method is UNSET:
        await _take_answer(connection, piece, frame)
    else:
        await _take_message(sessions, connection, piece, frame)
    await client.drain()


def _has_objects(data: bytes) -> bool:
    """Returns whether a line that is no frame is a JSON object, or a batch of some, which version 2 has."""
    is_batch = data.lstrip().startswith(b"[")
    try:
        parts = msgspec.json.decode(data, type=list[Raw]) if is_batch else [msgspec.json.decode(data, type=Raw)]
        return bool(parts) and all(bytes(part).lstrip().startswith(b"{") for part in parts)
    except ValueError:
        return False
    except RecursionError:
        # It is nested too deeply to be read, here as in most clients.
        return True


async def _take_answer(connection: Connection, piece: Piece, frame: Frame) -> None:
    if connection.agent.takes(frame):
        return
    pending = connection.pending.pop(frame.known_id, None)
    if pending is None or pending.answered is None:
        connection.client.pass_on(piece)
    else:
        await pending.answered(piece, frame)


async def _take_message(sessions: Sessions, connection: Connection, piece: Piece, frame: Frame) -> None:
    """Handles a notification or a request from the agent. Most of them contain the id of a session."""
    sent = _read(frame.params)
    session = sessions.by_agent_id(sent.session_id, connection)
    update = fields(sent.update) if frame.method == UPDATE else {}
    own_turn = connection.own_turns.get(sent.session_id)
    if own_turn is not None and own_turn.take(update):
        return
    aside = connection.asides.get(sent.session_id) or (session.own_turn if session and session.muted else None)
    if aside is not None:
        for read in connection.read(sent.session_id, update) if update else ():
            aside.take(read)
            if session is not None:
                session.facts.take_update(read)
        _decline(connection.agent, frame)
        return
    piece = _shown(connection, piece, frame, sent)
    if session is None and frame.method == UPDATE:
        if connection.hides_unknown or connection.number:
            return
        session = early_session(sessions, sent.session_id)
    if session is None:
        connection.client.pass_on(piece)
        return
    if update:
        await _take_update(session, piece, update)
    else:
        _show(session, piece, update)


async def _take_update(session: ProxiedSession, piece: Piece, update: dict[str, Any]) -> None:
    """Forwards an update of a session that the client sees, and records what it says."""
    connection = session.connection
    taken = await answers_of(connection).take(session, update, complete)
    if taken.forwarded:
        _show(session, piece, update)
    for read in connection.read(session.agent_id, update) if taken.recorded else ():
        await record_update(session, read)
    if update.get("sessionUpdate") == "available_commands_update":
        # The agent's list of commands replaces the client's list, so ours must be added again.
        offer_commands(session)


def _shown(connection: Connection, piece: Piece, frame: Frame, sent: _Sent) -> Piece:
    """Returns a message with the id of the agent's request as the client gets it. Stores a request as `asked`."""
    if frame.id is not UNSET:
        shown_id = connection.shown_id(frame.id)
        connection.asked[shown_id] = Asked(
            method=as_text(frame.method),
            request_id=frame.id,
            session_id=sent.session_id,
            terminal_id=sent.terminal_id,
        )
        return piece if shown_id == frame.id else Piece(with_id(piece.data, shown_id))
    if frame.method == _CANCEL and connection.number:
        shown_id = connection.shown_id(fields(frame.params).get("requestId"))
        return Piece(with_params(piece.data, {"requestId": shown_id}))
    return piece


def _show(session: ProxiedSession, piece: Piece, update: dict[str, Any]) -> None:
    """Forwards a message of a session, with the client's id of it, or shows what it says of a compaction to a client
    that takes no such updates."""
    connection = session.connection
    if is_of_compaction(update) and connection.asks_for_compactions:
        call = session.shown_compactions.tool_call(update)
        if call is not None:
            send_update(session, call)
    elif session.id == session.agent_id:
        connection.client.pass_on(piece)
    elif not (update.get("sessionUpdate") == "session_info_update" and "title" in update):
        # The agent's title of a session after a handover describes the handover, not the conversation.
        connection.client.pass_on(Piece(with_params(piece.data, {"sessionId": session.id})))


def _decline(agent: Agent, frame: Frame) -> None:
    """Declines a request of a session that the client doesn't see. Does nothing for a notification."""
    if frame.method == "session/request_permission" and frame.id is not UNSET:
        agent.insert(line(Response(id=frame.id, result={"outcome": {"outcome": "cancelled"}})))
    elif frame.id is not UNSET:
        agent.insert(line(ErrorResponse(id=frame.id, error=_NOT_NOW)))


def _read(params: Raw) -> _Sent:
    try:
        return _sent.decode(params)
    except (ValueError, RecursionError):
        return _Sent()


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
