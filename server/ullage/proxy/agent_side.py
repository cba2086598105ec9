"""What comes from the agent: passed on untouched, learnt from, and kept from the client only where the proxy has a turn
of its own with the agent."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.agents.acp import occupancy_of_answer
from ullage.api.notification import UPDATE
from ullage.jsonrpc.codes import METHOD_NOT_FOUND
from ullage.jsonrpc.envelope import ErrorResponse, RequestId, Response
from ullage.jsonrpc.errors import ErrorObject
from ullage.model.json_values import as_object, as_text
from ullage.proxy import native, opening
from ullage.proxy.connection import Connection, Pending
from ullage.proxy.pipe.frames import Frame, fields, line, peek, with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.learning import learn_config, learn_occupancy, learn_update, record_messages, record_occupancy
from ullage.proxy.session import ProxiedSession
from ullage.proxy.telling import tell_held, tell_usage

_NOT_NOW = ErrorObject(code=METHOD_NOT_FOUND, message="The context is being compacted; use no tools.")


class _Told(Struct, frozen=True, rename="camel"):
    session_id: str = ""
    update: Raw = Raw(b"{}")


_told = msgspec.json.Decoder(_Told)


async def from_agent(connection: Connection, piece: Piece) -> None:
    """Takes a line, or a piece of a long one. Returns when there is room for more."""
    frame = peek(piece.data) if piece.whole else None
    if frame is None:
        connection.client.pass_on(piece)
    elif frame.method is UNSET:
        await _answered(connection, piece, frame)
    else:
        await _said(connection, piece, frame)
    await connection.client.drain()


async def _said(connection: Connection, piece: Piece, frame: Frame) -> None:
    """A notification or a request, of a session mostly."""
    told = _read(frame.params)
    if told.session_id in connection.muted:
        _hear_muted(connection, frame, told)
        return
    session = connection.by_agent_id(told.session_id)
    if session is None and frame.method == UPDATE:
        if connection.opening and not opening.is_awaited(connection):
            return
        session = opening.early_session(connection, told.session_id)
    if session is None:
        connection.client.pass_on(piece)
        return
    update = fields(told.update) if frame.method == UPDATE else {}
    if session.id == session.agent_id:
        connection.client.pass_on(piece)
    elif not _is_title(update):
        connection.client.pass_on(Piece(with_params(piece.data, {"sessionId": session.id})))
    if update:
        await learn_update(connection, session, update)


async def _answered(connection: Connection, piece: Piece, frame: Frame) -> None:
    """An answer: to the proxy, or to the client."""
    if connection.agent.takes(frame):
        return
    known = None if frame.id is UNSET else frame.id
    pending = connection.pending.pop(known, None)
    if pending is None:
        connection.client.pass_on(piece)
        return
    session = connection.sessions.get(pending.session_id)
    if pending.method == "session/prompt" and session is not None:
        try:
            await _end_turn(connection, session, known, fields(frame.result))
        finally:
            # Whatever goes wrong here, the client gets its answer.
            connection.client.pass_on(piece)
    elif pending.method in opening.METHODS:
        await opening.opened(connection, pending, known, piece, frame)
    else:
        connection.client.pass_on(piece)
        _learn_answer(connection, session, pending, fields(frame.result))


async def _end_turn(
    connection: Connection, session: ProxiedSession, known: RequestId | None, result: dict[str, Any]
) -> None:
    """Before the answer to a prompt goes out: records the rest, and tells what the agent has not told."""
    session.prompts.discard(known)
    await record_messages(connection, session, tuple(session.turn.end()))
    told = None if session.tells_usage else occupancy_of_answer(result)
    if told is not None:
        learn_occupancy(session, told)
    await record_occupancy(connection, session)
    workspace = await connection.recorder.settled()
    if workspace is not None:
        native.finish(connection, session, workspace)
        if not session.tells_usage:
            tell_usage(connection, session, workspace)
    tell_held(connection, session)


def _learn_answer(
    connection: Connection, session: ProxiedSession | None, pending: Pending, result: dict[str, Any]
) -> None:
    match pending.method:
        case "initialize":
            connection.learn_agent(result)
        case "session/set_mode" if session is not None:
            session.mode = as_text(pending.params.get("modeId"))
        case "session/set_config_option" if session is not None:
            learn_config(session, result)
        case "session/close" | "session/delete" if session is not None:
            connection.live.discard(session.agent_id)
            del connection.sessions[session.id]
        case _:
            pass


def _hear_muted(connection: Connection, frame: Frame, told: _Told) -> None:
    """What is said in a turn of the proxy's own: text is collected, what is asked is declined."""
    if frame.method == UPDATE:
        update = fields(told.update)
        if update.get("sessionUpdate") == "agent_message_chunk":
            connection.muted[told.session_id].text += as_text(as_object(update.get("content")).get("text"))
    elif frame.method == "session/request_permission" and frame.id is not UNSET:
        connection.agent.insert(line(Response(id=frame.id, result={"outcome": {"outcome": "cancelled"}})))
    elif frame.id is not UNSET:
        connection.agent.insert(line(ErrorResponse(id=frame.id, error=_NOT_NOW)))


def _is_title(update: dict[str, Any]) -> bool:
    """A title that an agent finds for a fresh session or a copy speaks of the hand-over, not of the conversation."""
    return update.get("sessionUpdate") == "session_info_update" and "title" in update


def _read(params: Raw) -> _Told:
    try:
        return _told.decode(params)
    except (ValueError, RecursionError):
        return _Told()
