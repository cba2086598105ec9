"""Handles lines from the client: forwards them unchanged, except for the requests that the proxy handles itself.

A conversation that was compacted may have several sessions of the agent: the one in use, those that it has left, and
copies. A list shows the client one of them, under the id that it knows; deleting the conversation deletes all of them,
and the record.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.model.errors import AgentError, UllageError
from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.proxy.agent_sessions import offered
from ullage.proxy.connection import Connection, Pending, revive
from ullage.proxy.lines import Frame, Piece, fields, peek, with_id, with_params
from ullage.proxy.opening import load, pending_new, reopen_lost
from ullage.proxy.own_methods import PREFIX as OWN_PREFIX
from ullage.proxy.own_methods import with_own_methods
from ullage.proxy.prompts import take_prompt
from ullage.proxy.record import SessionRecord
from ullage.proxy.recording import record_messages
from ullage.proxy.session import ProxiedSession, Sessions
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import AttachedSession
from ullage.service.sessions import delete_session

Handler = Callable[[Sessions, Piece, Frame], Awaitable[None]]
_TERMINAL_OUTPUT = "terminal/output"
_log = logging.getLogger(__name__)


class _Named(Struct, frozen=True, rename="camel"):
    session_id: str = ""


_named = msgspec.json.Decoder(_Named)


async def from_client(sessions: Sessions, piece: Piece) -> None:
    """Handles one piece of the client's output: a line, or a piece of a long line. Returns when the agent has room for
    more."""
    connection = sessions.connection
    frame = peek(piece.data) if piece.whole else None
    if frame is None or frame.method is UNSET:
        if frame is None or not _take_answer(sessions, piece, frame):
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
        sessions.connection.pending[frame.id] = pending_list(sessions.connection, frame)
    sessions.connection.agent.pass_on(piece)


def _take_answer(sessions: Sessions, piece: Piece, frame: Frame) -> bool:
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
            connection.agent.pass_on(Piece(with_id(piece.data, asked.request_id)))
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


def pending_list(connection: Connection, frame: Frame) -> Pending:
    """Returns the `Pending` for a `session/list` of the client's, which rewrites the agent's answer. A request without
    a cursor begins a new list."""
    if not fields(frame.params).get("cursor"):
        connection.listed.clear()

    async def answered(piece: Piece, frame: Frame) -> None:
        await _list_answered(connection, piece, frame)

    return Pending(method="session/list", answered=answered)


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
                _log.info("Session %s of %s is not deleted: %s", other, session_id, error)
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
