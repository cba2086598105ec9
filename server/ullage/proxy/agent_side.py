"""Handles lines from the agent: forwards them to the client unchanged and records what they report.

What is no message goes to standard error. Lines that belong to the proxy's own turns, to asides and to its own requests
are not forwarded.
"""

import sys
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.api.wire import UPDATE
from ullage.jsonrpc.envelope import METHOD_NOT_FOUND, ErrorObject, ErrorResponse, Response
from ullage.model.json_values import as_text
from ullage.proxy.agent_process import Agent
from ullage.proxy.answers import answers_of
from ullage.proxy.compactions import is_of_compaction
from ullage.proxy.connection import Asked, Connection
from ullage.proxy.lines import Frame, Piece, fields, line, peek, with_id, with_params
from ullage.proxy.opening import early_session
from ullage.proxy.prompts import complete
from ullage.proxy.recording import record_update
from ullage.proxy.session import ProxiedSession, Sessions
from ullage.proxy.to_client import offer_commands, send_update

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
    if piece.is_text or (piece.whole and not (_is_json(piece.data) if frame is None else frame.says_something)):
        _show_text(piece.data)
    elif frame is None:
        client.pass_on(piece)
    elif frame.method is UNSET:
        await _take_answer(connection, piece, frame)
    else:
        await _take_message(sessions, connection, piece, frame)
    await client.drain()


def _is_json(data: bytes) -> bool:
    """Returns whether a line is JSON as far as it is read, or empty."""
    try:
        msgspec.json.decode(data.strip() or b"0", type=Raw)
    except ValueError:
        return False
    except RecursionError:
        # It is nested too deeply to be read, here as in most clients.
        return True
    return True


def _show_text(data: bytes) -> None:
    """Writes what is no message, such as a warning of npx, a line of a log in JSON or a question on a terminal, to
    standard error: a client that reads messages may end at it."""
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


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
    elif not _is_title(update):
        connection.client.pass_on(Piece(with_params(piece.data, {"sessionId": session.id})))


def _decline(agent: Agent, frame: Frame) -> None:
    """Declines a request of a session that the client doesn't see. Does nothing for a notification."""
    if frame.method == "session/request_permission" and frame.id is not UNSET:
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
