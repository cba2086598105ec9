"""The proxy's own requests to the agent about its sessions: open a fresh one, copy one, open a former one again, and
send a prompt."""

import asyncio
import logging
from typing import Any

from ullage.model.errors import AgentError
from ullage.model.json_values import as_object, as_objects, as_text
from ullage.proxy.offered_server import with_session
from ullage.proxy.session import ProxiedSession

_log = logging.getLogger(__name__)


async def open_fresh(session: ProxiedSession) -> tuple[str, dict[str, Any]]:
    """Requests a new session from the agent, and sets in it the mode and the config options of this one.

    Returns the agent's id of the new session and the agent's result of `session/new`. The new session is an aside, so
    the client is sent none of its updates. Raises `AgentError`.
    """
    connection = session.connection
    params = {"cwd": session.cwd, "mcpServers": _servers(session)}
    with connection.making():
        opened = await connection.agent.request("session/new", params)
        fresh = as_text(opened.get("sessionId"))
        connection.set_aside(fresh)
    await _set_up(session, fresh, opened)
    return fresh, opened


async def reopen(session: ProxiedSession, agent_id: str) -> dict[str, Any]:
    """Requests that the agent open its session `agent_id` again, by `session/resume` if the agent can do that,
    otherwise by `session/load`. Returns the agent's result.

    Raises `AgentError` if the agent refuses or can do neither.
    """
    connection = session.connection
    params = {"sessionId": agent_id, "cwd": session.cwd, "mcpServers": _servers(session)}
    how = next((name for name in ("resume", "load") if connection.agent_can(name)), None)
    if how is None:
        raise AgentError(f"{connection.agent_name} cannot open a former session again")
    return await connection.agent.request(f"session/{how}", params)


async def open_aside(session: ProxiedSession, agent_id: str) -> None:
    """Requests that the agent open its former session `agent_id` as an aside, so that the conversation can move to it.
    Does nothing if that session is an aside already.

    Raises `AgentError`.
    """
    connection = session.connection
    if agent_id in connection.asides:
        return
    # Before the request: a load replays the session, and the client has seen its messages already.
    connection.set_aside(agent_id)
    try:
        await reopen(session, agent_id)
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
        with connection.making():
            copy = as_text((await connection.agent.request("session/fork", params)).get("sessionId"))
            connection.set_aside(copy)
    except AgentError as error:
        _log.info("No copy of session %s: %s", session.id, error)
        return ""
    return copy


async def close_copy(session: ProxiedSession, copy: str) -> None:
    """Requests that the agent close its session `copy`, if the agent can close sessions. An error is only logged.

    The copy is still an aside afterwards, because the agent may still send updates of it.
    """
    if session.connection.agent_can("close"):
        await _try(session, "session/close", {"sessionId": copy})


async def prompt_agent(session: ProxiedSession, agent_id: str, text: str) -> None:
    """Sends a prompt of the proxy's own to the agent's session `agent_id`, and waits for the end of the turn.

    If this coroutine is cancelled, it sends the agent `session/cancel` and still waits for the turn's end, because
    nothing else may run in that session before. Raises `AgentError`.
    """
    agent = session.connection.agent
    params = {"sessionId": agent_id, "prompt": [{"type": "text", "text": text}]}
    turn = asyncio.ensure_future(agent.request("session/prompt", params))
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
        await _try(session, "session/set_mode", {"sessionId": fresh, "modeId": facts.mode})
    given = {
        as_text(option.get("id")): option.get("currentValue") for option in as_objects(opened.get("configOptions"))
    }
    for name, value in facts.config.items():
        if given.get(name) != value:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            chosen = {"sessionId": fresh, "configId": name, "value": value, **kind}
            await _try(session, "session/set_config_option", chosen)


def _servers(session: ProxiedSession) -> list[Any]:
    return with_session(session.mcp_servers, session.connection.options.server, session.id)


async def _try(session: ProxiedSession, method: str, params: dict[str, Any]) -> None:
    """Sends the agent a request whose failure does no harm. An error is only logged."""
    try:
        await session.connection.agent.request(method, params)
    except AgentError as error:
        _log.info("%s", error)
