"""Handles lines from the agent: forwards them to the client unchanged and records what they report.

Lines that belong to the proxy's own turns, to asides and to its own requests are not forwarded.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.api.wire import UPDATE
from ullage.jsonrpc.envelope import ErrorResponse, Response
from ullage.jsonrpc.rpc_errors import METHOD_NOT_FOUND, ErrorObject
from ullage.model.json_values import as_text
from ullage.proxy.connection import Aside, Asked, Connection
from ullage.proxy.opening import early_session
from ullage.proxy.pipe.agent import Agent
from ullage.proxy.pipe.frames import Frame, fields, line, peek, with_id, with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.recording import record_update
from ullage.proxy.session import ProxiedSession
from ullage.proxy.sessions import Sessions
from ullage.proxy.shown_compactions import is_of_compaction
from ullage.proxy.slash_commands import offer_commands
from ullage.proxy.to_client import send_update

_CANCEL = "$/cancel_request"
_NOT_NOW = ErrorObject(code=METHOD_NOT_FOUND, message="The context is being compacted; use no tools.")


class _Sent(Struct, frozen=True, rename="camel"):
    session_id: str = ""
    update: Raw = Raw(b"{}")
    terminal_id: str = ""


_sent = msgspec.json.Decoder(_Sent)


async def from_agent(sessions: Sessions, connection: Connection, piece: Piece) -> None:
    """Handles one piece of an agent's output: a line, or a piece of a long line. Returns when the client has room for
    more."""
    client = connection.client
    frame = peek(piece.data) if piece.whole else None
    if frame is None:
        client.pass_on(piece)
    elif frame.method is UNSET:
        await _take_answer(connection, piece, frame)
    else:
        await _take_message(sessions, connection, piece, frame)
    await client.drain()


async def _take_answer(connection: Connection, piece: Piece, frame: Frame) -> None:
    """Handles the agent's answer to a request of the proxy or of the client."""
    if connection.agent.takes(frame):
        return
    pending = connection.pending.pop(None if frame.id is UNSET else frame.id, None)
    if pending is None or pending.answered is None:
        connection.client.pass_on(piece)
    else:
        await pending.answered(piece, frame)


async def _take_message(sessions: Sessions, connection: Connection, piece: Piece, frame: Frame) -> None:
    """Handles a notification or a request from the agent. Most of them contain the id of a session."""
    sent = _read(frame.params)
    session = sessions.by_agent_id(sent.session_id, connection)
    aside = connection.asides.get(sent.session_id) or (session.own_turn if session and session.muted else None)
    if aside is not None:
        _keep_aside(connection.agent, aside, frame, sent)
        if session is not None and frame.method == UPDATE:
            session.facts.take_update(fields(sent.update))
        return
    piece = _shown(connection, piece, frame, sent)
    if session is None and frame.method == UPDATE:
        if connection.hides_unknown or connection.number:
            return
        session = early_session(sessions, sent.session_id)
    if session is None:
        connection.client.pass_on(piece)
        return
    update = fields(sent.update) if frame.method == UPDATE else {}
    _show(session, piece, update)
    if update:
        await record_update(session, update)
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
    elif not _is_title(update):
        connection.client.pass_on(Piece(with_params(piece.data, {"sessionId": session.id})))


def _keep_aside(agent: Agent, aside: Aside, frame: Frame, sent: _Sent) -> None:
    """Handles a message of a session that the client doesn't see: collects the text of the agent's answer, and declines
    every request."""
    if frame.method == UPDATE:
        aside.take(fields(sent.update))
    elif frame.method == "session/request_permission" and frame.id is not UNSET:
        agent.insert(line(Response(id=frame.id, result={"outcome": {"outcome": "cancelled"}})))
    elif frame.id is not UNSET:
        agent.insert(line(ErrorResponse(id=frame.id, error=_NOT_NOW)))


def _is_title(update: dict[str, Any]) -> bool:
    """Returns whether an update sets the session's title.

    Such an update of a session after a handover is not forwarded, because its title describes the handover, not the
    conversation.
    """
    return update.get("sessionUpdate") == "session_info_update" and "title" in update


def _read(params: Raw) -> _Sent:
    try:
        return _sent.decode(params)
    except (ValueError, RecursionError):
        return _Sent()
