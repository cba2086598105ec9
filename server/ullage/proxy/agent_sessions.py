"""The proxy's own requests to the agent about its sessions: open a fresh one, copy one, open a former one again, and
send a prompt. With each session that is opened, the agent is offered Ullage's MCP server, by which it looks up what was
compacted away. It starts with the session's id where that is known: after a handover the agent has another id of the
session, under which its own file has little of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw

from ullage.model.errors import AgentError
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text, encode_json
from ullage.proxy.connection import Connection
from ullage.proxy.lines import Frame, Piece, fields, peek, with_params
from ullage.proxy.record import SessionRecord
from ullage.proxy.session import ProxiedSession

_log = logging.getLogger(__name__)
# Is called with a session and the agent's id of another that the agent has made for it.
Noted = Callable[[ProxiedSession, str], Awaitable[None]]
NAME = "ullage"
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
# Those that name the session that is opened. A fork gets an id of its own.
_NAMING = frozenset({"session/load", "session/resume"})
_raw_list = msgspec.json.Decoder(list[Raw])
_raw_fields = msgspec.json.Decoder(dict[str, Raw])


async def open_fresh(session: ProxiedSession, at: Connection | None = None) -> tuple[str, dict[str, Any]]:
    """Requests a new session from the agent, or from the agent at the connection `at`. If that is the session's own,
    sets in it the mode and the config options of this one.

    Returns the agent's id of the new session and the agent's result of `session/new`. The new session is an aside, so
    the client is sent none of its updates. Raises `AgentError`.
    """
    params = {"cwd": session.cwd, "mcpServers": _servers(session)}
    connection = at or session.connection
    fresh, opened = await _make(session, connection, "session/new", params)
    if connection is session.connection:
        await _set_up(session, fresh, opened)
    return fresh, opened


async def reopen(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> dict[str, Any]:
    """Requests that the agent, or the agent at the connection `at`, open its session `agent_id` again, by
    `session/resume` if the agent can do that, otherwise by `session/load`. Returns the agent's result.

    Raises `AgentError` if the agent refuses or can do neither.
    """
    connection = at or session.connection
    params = {"sessionId": agent_id, "cwd": session.cwd, "mcpServers": _servers(session)}
    how = next((name for name in ("resume", "load") if connection.agent_can(name)), None)
    if how is None:
        raise AgentError(f"{connection.agent_name} cannot open a former session again")
    return await connection.request(f"session/{how}", params)


async def open_aside(session: ProxiedSession, agent_id: str, connection: Connection) -> dict[str, Any]:
    """Requests that the connection's agent open its former session `agent_id` as an aside, so that the conversation can
    move to it. Returns the agent's result, or an empty one if that session is an open aside already.

    Raises `AgentError`.
    """
    known = connection.asides.get(agent_id)
    if known is not None and known.closing is None:
        return {}
    if known is not None and known.closing is not None:
        await asyncio.wait([known.closing])
    # Before the request: a load replays the session, and the client has seen its messages already.
    connection.set_aside(agent_id)
    try:
        return await reopen(session, agent_id, connection)
    except BaseException:
        connection.asides.pop(agent_id, None)
        raise


async def copy_session(session: ProxiedSession) -> str:
    """Requests from the agent a copy (`session/fork`) of the session as it is now.

    Returns the agent's id of the copy, or "" if the agent can't copy sessions or refuses. The copy is an aside.
    """
    connection = session.connection
    if not connection.agent_can("fork"):
        return ""
    params = {"sessionId": session.agent_id, "cwd": session.cwd, "mcpServers": _servers(session)}
    try:
        copy, _ = await _make(session, connection, "session/fork", params, _note_copy)
    except AgentError as error:
        _log.info("No copy of session %s: %s", session.id, error)
        return ""
    return copy


async def _note_copy(session: ProxiedSession, copy: str) -> None:
    """Records the agent's id of a copy that the agent can't delete, so that the client never sees it in its list."""
    copied, attached = session.attachment(copy), session.attachment(session.agent_id)

    async def job(record: SessionRecord) -> None:
        record.conversation.record(copied, attached)

    if not session.connection.agent_can("delete"):
        await session.put(job)


async def _make(
    session: ProxiedSession, connection: Connection, method: str, params: dict[str, Any], note: Noted | None = None
) -> tuple[str, dict[str, Any]]:
    """Requests a session from the agent, which is an aside from then on. Returns the agent's id of it and its result.

    `note` is called with the agent's id once the agent has made it. If this coroutine is cancelled, that still happens,
    and then the session is discarded. Raises `AgentError`.
    """

    async def ask() -> tuple[str, dict[str, Any]]:
        with connection.making():
            result = await connection.request(method, params)
            made = as_text(result.get("sessionId"))
            connection.set_aside(made)
        if note is not None:
            await note(session, made)
        return made, result

    asking = asyncio.ensure_future(ask())
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        asking.add_done_callback(partial(_discard_late, session, connection))
        raise


def _discard_late(
    session: ProxiedSession, connection: Connection, asking: "asyncio.Future[tuple[str, dict[str, Any]]]"
) -> None:
    if not asking.cancelled() and asking.exception() is None:
        discard(session, asking.result()[0], connection)


def close_aside(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> None:
    """Has the agent, or the agent at the connection `at`, close its session `agent_id`, which the conversation has left
    or which is a copy. Some agents run a process for each open session. Does nothing if there is no such aside, or if
    the agent can't close it and open it again later. An error is only logged.

    The session is still an aside afterwards, because the agent may still send updates of it.
    """
    connection = at or session.connection
    aside = connection.asides.get(agent_id)
    opens_again = connection.agent_can("resume") or connection.agent_can("load")
    if aside is not None and opens_again and connection.agent_can("close"):
        aside.closing = connection.spawn(_try(connection, "session/close", {"sessionId": agent_id}))


def discard(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> None:
    """Has the agent, or the agent at the connection `at`, close its session `agent_id`, which nothing needs any more,
    and delete it, as far as the agent can. An error is only logged. The session is still an aside afterwards."""
    connection = at or session.connection
    connection.spawn(_discard(connection, agent_id))


async def _discard(connection: Connection, agent_id: str) -> None:
    # Few agents end a session's process when they delete it.
    for ability in ("close", "delete"):
        if connection.agent_can(ability):
            await _try(connection, f"session/{ability}", {"sessionId": agent_id})


async def prompt_agent(session: ProxiedSession, agent_id: str, text: str) -> None:
    """Sends a prompt of the proxy's own to the agent's session `agent_id`, and waits for the end of the turn.

    If this coroutine is cancelled, it sends the agent `session/cancel` and still waits for the turn's end, because
    nothing else may run in that session before. Raises `AgentError`.
    """
    agent = session.connection.agent
    params = {"sessionId": agent_id, "prompt": [{"type": "text", "text": text}]}
    turn = asyncio.ensure_future(session.connection.run_turn(agent_id, params))
    # Reads the exception of a cancelled turn, which asyncio would log otherwise.
    turn.add_done_callback(lambda _: turn.cancelled() or turn.exception())
    try:
        await asyncio.shield(turn)
    except asyncio.CancelledError:
        while not turn.done():
            agent.notify("session/cancel", {"sessionId": agent_id})
            try:
                await asyncio.wait([turn])
            except asyncio.CancelledError:
                # Cancelled once more, so the agent is sent the cancellation once more.
                continue
        raise


async def _set_up(session: ProxiedSession, fresh: str, opened: dict[str, Any]) -> None:
    """Sets, in the agent's session `fresh`, the mode and the config options that the conversation's session has.

    `opened` is the agent's result of `session/new`. If the agent refuses a value, its default is kept.
    """
    facts = session.facts
    mode = as_object(opened.get("modes")).get("currentModeId")
    if facts.mode and facts.mode != mode:
        await _try(session.connection, "session/set_mode", {"sessionId": fresh, "modeId": facts.mode})
    given = {
        as_text(option.get("id")): option.get("currentValue") for option in as_objects(opened.get("configOptions"))
    }
    for name, value in facts.config.items():
        if given.get(name) != value:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            chosen = {"sessionId": fresh, "configId": name, "value": value, **kind}
            await _try(session.connection, "session/set_config_option", chosen)


def _servers(session: ProxiedSession) -> list[Any]:
    return with_session(session.mcp_servers, session.connection.server, session.id)


async def _try(connection: Connection, method: str, params: dict[str, Any]) -> None:
    """Sends the agent a request whose failure does no harm. An error is only logged."""
    try:
        await connection.request(method, params)
    except AgentError as error:
        _log.info("%s", error)


def offered(piece: Piece, frame: Frame, server: JsonObject) -> tuple[Piece, Frame]:
    """Returns a client's request with the server added to its `mcpServers`, whose other entries keep their bytes.

    Returns the request as it is if it opens no session, if the client offers Ullage's server itself, or if the request
    is not as the protocol has it.
    """
    if frame.method not in _OPENING:
        return piece, frame
    params = fields(frame.params)
    known = params.get("mcpServers", [])
    if not params or not isinstance(known, list) or any(map(_is_ours, as_list(known))):
        return piece, frame
    named = named_server(server, as_text(params.get("sessionId"))) if frame.method in _NAMING else server
    servers = [*_raw_list.decode(_raw_fields.decode(frame.params).get("mcpServers", b"[]")), Raw(encode_json(named))]
    changed = Piece(with_params(piece.data, {"mcpServers": servers}))
    return changed, peek(changed.data) or frame


def with_session(servers: list[Any], server: JsonObject | None, session_id: str) -> list[Any]:
    """Returns a session's servers for a request of the proxy's own: Ullage's server, if the proxy has added it, starts
    with the id of the session."""
    if server is None:
        return servers
    return [named_server(server, session_id) if _was_added(one, server) else one for one in servers]


def named_server(server: JsonObject, session_id: str) -> JsonObject:
    """Returns the server as it is started for a session, "" if the id is not known."""
    return {**server, "args": [*as_list(server.get("args")), "--session", session_id]} if session_id else server


def _is_ours(entry: object) -> bool:
    """Returns whether a client's entry is Ullage's server, by its name or by its command."""
    server = as_object(entry)
    words = [as_text(server.get("command")), *map(as_text, as_list(server.get("args")))]
    runs = any(PurePath(word.replace("\\", "/")).stem == NAME for word in words) and "mcp" in words
    return server.get("name") == NAME or runs


def _was_added(entry: object, server: JsonObject) -> bool:
    added, words = as_list(server.get("args")), as_list(as_object(entry).get("args"))
    return as_object(entry).get("name") == NAME and words[: len(added)] == added
