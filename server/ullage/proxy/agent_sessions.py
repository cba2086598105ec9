"""Requests of the proxy's own about the agent's sessions: a fresh one, a copy, a former one, and a turn in one."""

import asyncio
import logging
from typing import Any

from ullage.model.errors import AgentError
from ullage.model.json_values import as_object, as_objects, as_text
from ullage.proxy.session import ProxiedSession

_log = logging.getLogger(__name__)


async def open_fresh(session: ProxiedSession) -> tuple[str, dict[str, Any]]:
    """Has the agent open a new session with the mode and the options of this one. Returns its id, which is set aside,
    and the agent's answer. Raises `AgentError`."""
    connection = session.connection
    params = {"cwd": session.cwd, "mcpServers": session.mcp_servers}
    with connection.making():
        opened = await connection.agent.request("session/new", params)
        fresh = as_text(opened.get("sessionId"))
        connection.set_aside(fresh)
    await _set_up(session, fresh, opened)
    return fresh, opened


async def reopen(session: ProxiedSession, agent_id: str) -> dict[str, Any]:
    """Has the agent open a session of its own again; its answer. Raises `AgentError`."""
    connection = session.connection
    params = {"sessionId": agent_id, "cwd": session.cwd, "mcpServers": session.mcp_servers}
    how = next((name for name in ("resume", "load") if connection.agent_can(name)), None)
    if how is None:
        raise AgentError(f"{connection.agent_name} cannot open a former session again")
    return await connection.agent.request(f"session/{how}", params)


async def open_aside(session: ProxiedSession, agent_id: str) -> None:
    """Has the agent open a session of its own that the conversation may move to, unless it is open. Raises
    `AgentError`."""
    connection = session.connection
    if agent_id in connection.asides:
        return
    # A load replays the session, which the client has seen.
    connection.set_aside(agent_id)
    try:
        await reopen(session, agent_id)
    except BaseException:
        connection.asides.pop(agent_id, None)
        raise


async def copy_session(session: ProxiedSession) -> str:
    """Has the agent copy the session as it is. Returns the copy's id, which is set aside, or an empty text if the agent
    makes no copies."""
    connection = session.connection
    if not connection.agent_can("fork"):
        return ""
    params = {"sessionId": session.agent_id, "cwd": session.cwd, "mcpServers": session.mcp_servers}
    try:
        with connection.making():
            copy = as_text((await connection.agent.request("session/fork", params)).get("sessionId"))
            connection.set_aside(copy)
    except AgentError as error:
        _log.info("No copy of session %s: %s", session.id, error)
        return ""
    return copy


async def close_copy(session: ProxiedSession, copy: str) -> None:
    """Has the agent close a copy, if it can. The copy stays set aside: it may still send something."""
    if session.connection.agent_can("close"):
        await _try(session, "session/close", {"sessionId": copy})


async def prompt_agent(session: ProxiedSession, agent_id: str, text: str) -> None:
    """Gives the agent a turn of the proxy's own, and waits for its end. Cancelled, it takes the turn back and still
    waits for the end, because nothing else may run in that session before it. Raises `AgentError`."""
    agent = session.connection.agent
    params = {"sessionId": agent_id, "prompt": [{"type": "text", "text": text}]}
    turn = asyncio.ensure_future(agent.request("session/prompt", params))
    # Nobody asks for the outcome of a turn that was taken back.
    turn.add_done_callback(lambda _: turn.cancelled() or turn.exception())
    try:
        await asyncio.shield(turn)
    except asyncio.CancelledError:
        while not turn.done():
            agent.notify("session/cancel", {"sessionId": agent_id})
            try:
                await asyncio.wait([turn])
            except asyncio.CancelledError:
                # Cancelled once more: the agent is told once more.
                continue
        raise


async def _set_up(session: ProxiedSession, fresh: str, opened: dict[str, Any]) -> None:
    """Gives a fresh session the mode and the options that the user has chosen. A choice that the agent refuses keeps
    its default."""
    facts = session.facts
    mode = as_object(opened.get("modes")).get("currentModeId")
    if facts.mode and facts.mode != mode:
        await _try(session, "session/set_mode", {"sessionId": fresh, "modeId": facts.mode})
    given = {
        as_text(option.get("id")): option.get("currentValue") for option in as_objects(opened.get("configOptions"))
    }
    for name, value in facts.config.items():
        if given.get(name) != value:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            chosen = {"sessionId": fresh, "configId": name, "value": value, **kind}
            await _try(session, "session/set_config_option", chosen)


async def _try(session: ProxiedSession, method: str, params: dict[str, Any]) -> None:
    """Requests something that the conversation can do without."""
    try:
        await session.connection.agent.request(method, params)
    except AgentError as error:
        _log.info("%s", error)
