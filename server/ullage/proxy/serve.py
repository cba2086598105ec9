"""Puts the proxy together: the client's two streams, the agents and the recorder. Handles lines from both sides:
forwards them unchanged, except for the requests that the proxy handles itself, and records what agents report.

What an agent prints that is no message goes to standard error. Lines that belong to the proxy's own turns, to asides
and to its own requests are not forwarded.

A conversation that was compacted may have several sessions of the agent: the one in use, those that it has left, and
copies. A list shows the client one of them, under the id that it knows; deleting the conversation deletes all of them,
and the record.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.api.protocol import UPDATE
from ullage.jsonrpc.envelope import METHOD_NOT_FOUND, ErrorObject, ErrorResponse, Response
from ullage.model.errors import AgentError, UllageError
from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.proxy.agent_process import Agent, FailPending, Successor
from ullage.proxy.answers import answers_of
from ullage.proxy.compactions import is_of_compaction
from ullage.proxy.connection import PREFIX as OWN_PREFIX
from ullage.proxy.connection import Asked, Connection, Pending, ProxyOptions, revive, with_own_methods
from ullage.proxy.handover import offered
from ullage.proxy.lines import Frame, LineCutter, Outlet, Piece, fields, line, peek, with_field, with_params
from ullage.proxy.prompts import agent_ended, complete, early_session, load, pending_new, reopen_lost, take_prompt
from ullage.proxy.record import Recorder, SessionRecord, Store
from ullage.proxy.recording import record_messages, record_update
from ullage.proxy.session import ProxiedSession, Sessions
from ullage.proxy.to_client import NoticeListener, offer_commands, send_unrecorded, send_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import AttachedSession
from ullage.service.sessions import delete_session
from ullage.system.stdio import DescriptorWriter, Source, client_is_gone, open_source

Handler = Callable[[Sessions, Piece, Frame], Awaitable[None]]
_TERMINAL_OUTPUT = "terminal/output"
log = logging.getLogger(__name__)


class _Named(Struct, frozen=True, rename="camel"):
    session_id: str = ""


_named = msgspec.json.Decoder(_Named)


async def from_client(sessions: Sessions, piece: Piece) -> None:
    """Handles one piece of the client's output: a line, or a piece of a long line. Returns when the agent has room for
    more."""
    connection = sessions.connection
    frame = peek(piece.data) if piece.whole else None
    if frame is None or frame.method is UNSET:
        if frame is None or not _take_clients_answer(sessions, piece, frame):
            connection.agent.pass_on(piece)
    else:
        server = connection.server
        if server is not None:
            piece, frame = offered(piece, frame, server)
        method = as_text(frame.method)
        if method.startswith(OWN_PREFIX) and connection.options.own_methods:
            sessions.own_methods.take(piece)
        else:
            await _HANDLERS.get(method, _other)(sessions, piece, frame)
    for one in connection.agents:
        await one.agent.drain()


async def _list(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    if frame.id is not UNSET:
        if not fields(frame.params).get("cursor"):
            sessions.connection.listed.clear()
        answered = partial(_list_answered, sessions.connection)
        sessions.connection.pending[frame.id] = Pending(method="session/list", answered=answered)
    sessions.connection.agent.pass_on(piece)


def _take_clients_answer(sessions: Sessions, piece: Piece, frame: Frame) -> bool:
    """Handles the client's answer to a request of an agent: stores the output of a command that the client runs for
    the agent, and forwards the answer to an agent that is not the first. Returns whether the answer must not be
    forwarded to the first agent: it is for another, or the agent that has asked has ended."""
    request_id = frame.known_id
    for connection in sessions.connection.agents:
        if request_id in connection.withdrawn:
            connection.withdrawn.discard(request_id)
            return True
        asked = connection.asked.pop(request_id, None)
        if asked is None:
            continue
        session = sessions.by_agent_id(asked.session_id, connection)
        if session and asked.method == _TERMINAL_OUTPUT:
            session.show_terminal(asked.terminal_id, as_text(fields(frame.result).get("output")))
        if connection.number:
            connection.agent.pass_on(Piece(with_field(piece.data, "id", asked.request_id)))
        return connection.number > 0
    return False


async def _initialize(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    connection = sessions.connection
    for one in connection.agents:
        one.greeting = fields(frame.params)
    if not connection.agent.alive:
        await connection.agent.start()
    if connection.asks_for_compactions:
        piece = Piece(with_params(piece.data, connection.to_agent))
    _pass(sessions, None, piece, frame)


async def _authenticate(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    sessions.connection.credentials = fields(frame.params)
    await _other(sessions, piece, frame)


async def _prompt(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    session = _session_of(sessions, frame)
    if session is None or frame.id is UNSET:
        await _other(sessions, piece, frame)
    else:
        await take_prompt(session, piece, frame)


async def _cancel(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Cancels the prompts that the proxy holds, and forwards the cancellation if the agent has prompts to cancel."""
    session = _session_of(sessions, frame)
    if session is None or not session.holds.cancel_all() or session.busy:
        _pass(sessions, session, piece, frame)


async def _cancel_request(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Cancels the prompt that the notification names, if the proxy holds it, or the request of a method of Ullage's
    own. Otherwise forwards the notification."""
    request_id = fields(frame.params).get("requestId")
    if isinstance(request_id, list | dict):
        # Not an id, and it can't be looked up.
        await _other(sessions, piece, frame)
        return
    if sessions.own_methods.cancel(request_id, piece):
        return
    if any([session.holds.cancel(request_id) for session in sessions]):
        return
    asked = [one for one in sessions.connection.agents if request_id in one.pending]
    if asked and asked[0].number:
        asked[0].agent.pass_on(piece)
    else:
        await _other(sessions, piece, frame)


async def _other(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Forwards a request or notification. If the agent or the session isn't open, a request is forwarded after it has
    been opened again, and a notification is dropped."""
    session = _session_of(sessions, frame)
    connection = session.connection if session else sessions.connection
    if connection.agent.alive and (session is None or session.is_open):
        _pass(sessions, session, piece, frame)
    elif frame.id is not UNSET:
        connection.spawn(_late(sessions, session, piece, frame))


async def _late(sessions: Sessions, session: ProxiedSession | None, piece: Piece, frame: Frame) -> None:
    """Opens the agent and the session again, then forwards the request. If that fails, answers the request with the
    error."""
    connection = session.connection if session else sessions.connection
    try:
        await revive(connection)
        if session is not None:
            await reopen_lost(session)
        _pass(sessions, session, piece, frame)
    except UllageError as error:
        connection.refuse(frame.known_id, error)


def _pass(sessions: Sessions, session: ProxiedSession | None, piece: Piece, frame: Frame) -> None:
    connection = session.connection if session else sessions.connection
    if frame.id is not UNSET:
        connection.pending[frame.id] = _pending(sessions, session, frame)
    connection.agent.pass_on(piece if session is None else session.mapped(piece))


def _pending(sessions: Sessions, session: ProxiedSession | None, frame: Frame) -> Pending:
    method = "" if frame.method is UNSET else frame.method
    match method:
        case "session/new" | "session/fork":
            return pending_new(sessions, session, frame)
        case "initialize":
            return Pending(method=method, answered=partial(_initialized, sessions))
        case "session/set_mode" if session is not None:
            mode = fields(frame.params).get("modeId")
            return _learning(sessions, method, lambda _: session.facts.take_mode(mode))
        case "session/set_config_option" if session is not None:
            take, shapes = session.facts.take_config, sessions.connection.shapes
            return _learning(sessions, method, lambda result: take(shapes.opened(result)))
        case "session/close" if session is not None:
            return Pending(method=method, answered=partial(_closed, sessions, session))
        case _:
            return Pending(method=method)


async def _initialized(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Handles the agent's answer to `initialize`: stores what it says of the agent, and adds the names of
    Ullage's own methods, unless every line is forwarded byte for byte."""
    connection = sessions.connection
    if not memoryview(frame.error):
        connection.learn_agent(fields(frame.result))
    adds = connection.options.own_methods and not connection.only_forwards
    connection.client.pass_on(with_own_methods(piece, connection.shapes.capabilities) if adds else piece)


def _learning(sessions: Sessions, method: str, learn: Callable[[dict[str, Any]], object]) -> Pending:
    """Returns a `Pending` that forwards the answer and calls `learn` with its result, unless the answer is an error."""

    async def answered(piece: Piece, frame: Frame) -> None:
        sessions.connection.client.pass_on(piece)
        if not memoryview(frame.error):
            learn(fields(frame.result))

    return Pending(method=method, answered=answered)


async def _closed(sessions: Sessions, session: ProxiedSession, piece: Piece, frame: Frame) -> None:
    sessions.connection.client.pass_on(piece)
    if not memoryview(frame.error):
        await record_messages(session, sessions.drop(session))


def _session_of(sessions: Sessions, frame: Frame) -> ProxiedSession | None:
    return sessions.get(session_named(frame.params))


def session_named(params: Raw) -> str:
    """Returns the session id in the params of a message, or "" if they contain none."""
    try:
        return _named.decode(params).session_id
    except (ValueError, RecursionError):
        return ""


async def _list_answered(connection: Connection, piece: Piece, frame: Frame) -> None:
    workspace = None if memoryview(frame.error) else await connection.recorder.opened()
    result = fields(frame.result)
    entries = as_objects(result.get("sessions"))
    attached = workspace.ports.store.attached() if workspace else ()
    shown = rewritten(entries, attached, connection.listed)
    if shown == entries:
        connection.client.pass_on(piece)
        return
    connection.answer(frame.known_id, {**result, "sessions": shown})


def rewritten(entries: list[JsonObject], attached: Iterable[AttachedSession], listed: set[str]) -> list[JsonObject]:
    """Returns one page of the agent's list as the client gets it. A compacted conversation is shown once, where its
    first entry is, and with the time of its last; entries of other sessions are not changed.

    `listed` has the conversations that earlier pages have shown; those of this page are added.
    """
    owners = {agent_id: owner for owner in attached for agent_id in owner.agent_ids}
    pages: dict[str, list[JsonObject]] = {}
    for entry in entries:
        owner = owners.get(as_text(entry.get("sessionId")))
        if owner is not None:
            pages.setdefault(owner.session_id, []).append(entry)
    shown: list[JsonObject] = []
    for entry in entries:
        owner = owners.get(as_text(entry.get("sessionId")))
        if owner is None:
            shown.append(entry)
        elif owner.session_id not in listed and (one := _listed_entry(owner, pages[owner.session_id])) is not None:
            listed.add(owner.session_id)
            shown.append(one)
    return shown


def _listed_entry(owner: AttachedSession, entries: list[JsonObject]) -> JsonObject | None:
    """Returns the entry of a conversation, from those of its sessions on one page. Returns None if these are copies and
    sessions that it has left, and not the one that the client knows."""
    by_id = {as_text(entry.get("sessionId")): entry for entry in entries}
    known, used = by_id.get(owner.session_id), by_id.get(owner.agent_ids[-1])
    if known is None and used is None:
        return None
    times: list[Any] = [time for entry in (known, used) if entry and (time := as_text(entry.get("updatedAt")))]
    # The title of a session that begins with a summary is the summary's.
    one = known or {**(used or {}), "sessionId": owner.session_id, **({"title": owner.title} if owner.title else {})}
    return {**one, "updatedAt": max(times)} if times else one


async def delete(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Handles the client's `session/delete`: has the agent delete the other sessions of the conversation, then forwards
    the request. If the agent has deleted any, the record is deleted, too."""
    connection, session_id = sessions.connection, as_text(fields(frame.params).get("sessionId"))
    workspace = await connection.recorder.opened()
    attached = workspace.ports.store.attached() if workspace else ()
    owner = next((one for one in attached if one.session_id == session_id), None)
    others = [agent_id for agent_id in owner.agent_ids if agent_id != session_id] if owner else []
    if connection.agent.alive and not others:
        _forward_delete(sessions, session_id, piece, frame, deleted=False)
    else:
        connection.spawn(_delete(sessions, session_id, others, piece, frame))


async def _delete(sessions: Sessions, session_id: str, others: Sequence[str], piece: Piece, frame: Frame) -> None:
    connection = sessions.connection
    try:
        await revive(connection)
    except UllageError as error:
        connection.refuse(frame.known_id, error)
        return
    deleted = await _delete_others(sessions, session_id, others)
    _forward_delete(sessions, session_id, piece, frame, deleted=deleted)


def _forward_delete(sessions: Sessions, session_id: str, piece: Piece, frame: Frame, *, deleted: bool) -> None:
    connection = sessions.connection
    if frame.id is not UNSET:
        answered = partial(_delete_answered, sessions, session_id, deleted)
        connection.pending[frame.id] = Pending(method="session/delete", answered=answered)
    # Another line may be on its way in pieces.
    connection.agent.insert(piece.data)


async def _delete_others(sessions: Sessions, session_id: str, others: Sequence[str]) -> bool:
    """Has the agent delete these sessions. Returns whether it has deleted one. An error is only logged."""
    deleted = False
    for other in others:
        # The record does not say which agent has each session, and the ids of agents differ.
        for connection in (one for one in sessions.connection.agents if one.agent.alive):
            connection.set_aside(other)
            try:
                await connection.agent.request("session/delete", {"sessionId": other})
                deleted = True
                break
            except AgentError as error:
                # Few agents keep a session in which nothing was said.
                log.info("Session %s of %s is not deleted: %s", other, session_id, error)
    return deleted


async def _delete_answered(sessions: Sessions, session_id: str, deleted: bool, piece: Piece, frame: Frame) -> None:
    """Handles the agent's answer to the client's `session/delete`. `deleted` is true if the agent has deleted another
    session of the conversation: then it may have dropped this one before, which is no error to the client."""
    connection = sessions.connection
    refused = bool(memoryview(frame.error))
    if refused and deleted:
        connection.answer(frame.known_id, {})
    else:
        connection.client.pass_on(piece)
    if refused and not deleted:
        return
    session = sessions.get(session_id)
    if session is not None:
        await record_messages(session, sessions.drop(session))
    await connection.recorder.put(partial(_delete_record, session_id))


async def _delete_record(session_id: str, workspace: Workspace) -> None:
    if SessionRecord(workspace, session_id).exists:
        await delete_session(workspace, session_id)


_HANDLERS: dict[str, Handler] = {
    "initialize": _initialize,
    "authenticate": _authenticate,
    "auth/login": _authenticate,
    "session/prompt": _prompt,
    "session/cancel": _cancel,
    "$/cancel_request": _cancel_request,
    "session/delete": delete,
    "session/list": _list,
    "session/load": load,
    "session/resume": load,
}
_CANCEL = "$/cancel_request"
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
        return piece if shown_id == frame.id else Piece(with_field(piece.data, "id", shown_id))
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
