"""What comes from the client: passed on untouched, but for what the proxy sees to itself."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.api.codes import error_object
from ullage.jsonrpc.envelope import ErrorResponse
from ullage.model.errors import UllageError
from ullage.proxy.acts import begin, passes, read_prompt, start
from ullage.proxy.connection import Connection, Pending
from ullage.proxy.loading import load
from ullage.proxy.pipe.frames import Frame, fields, line, peek, with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.learning import record_messages
from ullage.proxy.recovery import bring_back
from ullage.proxy.session import ProxiedSession

Handler = Callable[[Connection, Piece, Frame], Awaitable[None]]


class _Named(Struct, frozen=True, rename="camel"):
    session_id: str = ""


_named = msgspec.json.Decoder(_Named)


async def from_client(connection: Connection, piece: Piece) -> None:
    """Takes a line, or a piece of a long one. Returns when there is room for more."""
    frame = peek(piece.data) if piece.whole else None
    if frame is None or frame.method is UNSET:
        connection.agent.pass_on(piece)
    else:
        await _HANDLERS.get(frame.method, _other)(connection, piece, frame)
    await connection.agent.drain()


async def _greet(connection: Connection, piece: Piece, frame: Frame) -> None:
    connection.greeting = fields(frame.params)
    if not connection.agent.alive:
        await connection.agent.start()
    _pass(connection, None, piece, frame)


async def _authenticate(connection: Connection, piece: Piece, frame: Frame) -> None:
    connection.credentials = fields(frame.params)
    await _other(connection, piece, frame)


async def _prompt(connection: Connection, piece: Piece, frame: Frame) -> None:
    session = connection.sessions.get(session_named(frame.params))
    if session is None or frame.id is UNSET:
        await _other(connection, piece, frame)
        return
    prompt = read_prompt(frame.id, piece.data, fields(frame.params))
    if passes(connection, session, prompt):
        message = start(connection, session, prompt, _mapped(session, piece))
        await record_messages(connection, session, (message,))
    else:
        begin(connection, session, prompt)


async def _cancel(connection: Connection, piece: Piece, frame: Frame) -> None:
    session = connection.sessions.get(session_named(frame.params))
    if session is not None and session.acting is not None and not session.acting.done():
        session.acting.cancel()
    else:
        _pass(connection, session, piece, frame)


async def _other(connection: Connection, piece: Piece, frame: Frame) -> None:
    session = connection.sessions.get(session_named(frame.params))
    if connection.agent.alive and (session is None or connection.is_open(session)):
        _pass(connection, session, piece, frame)
    elif frame.id is not UNSET:
        connection.spawn(_late(connection, session, piece, frame))


async def _late(connection: Connection, session: ProxiedSession | None, piece: Piece, frame: Frame) -> None:
    """Passes a request on once there is an agent again."""
    try:
        await bring_back(connection, session)
        _pass(connection, session, piece, frame)
    except UllageError as error:
        known = None if frame.id is UNSET else frame.id
        connection.client.insert(line(ErrorResponse(id=known, error=error_object(error))))


def _pass(connection: Connection, session: ProxiedSession | None, piece: Piece, frame: Frame) -> None:
    if frame.id is not UNSET and frame.method is not UNSET:
        params: dict[str, Any] = fields(frame.params) if frame.method in _REMEMBERED else {}
        connection.pending[frame.id] = Pending(frame.method, session.id if session else "", params)
    connection.agent.pass_on(piece if session is None else _mapped(session, piece))


def _mapped(session: ProxiedSession, piece: Piece) -> Piece:
    """With the id that the agent has for the session; untouched where it is the client's."""
    if session.agent_id == session.id:
        return piece
    return Piece(with_params(piece.data, {"sessionId": session.agent_id}))


def session_named(params: Raw) -> str:
    """The session that params name; nothing where they name none."""
    try:
        return _named.decode(params).session_id
    except (ValueError, RecursionError):
        return ""


_REMEMBERED = {"session/new", "session/fork", "session/set_mode", "session/set_config_option"}
_HANDLERS: dict[str, Handler] = {
    "initialize": _greet,
    "authenticate": _authenticate,
    "session/prompt": _prompt,
    "session/cancel": _cancel,
    "session/load": load,
    "session/resume": load,
}
