"""Going on after an end: of the agent, which is started again, and of a session, which is opened or begun again."""

from typing import Any

from ullage.acp.proxy import archive
from ullage.acp.proxy.connection import Connection
from ullage.acp.proxy.frames import line
from ullage.acp.proxy.handover import move, open_fresh, recorded, reopen
from ullage.acp.proxy.prompts import seed_of
from ullage.acp.proxy.recorder import add_messages, attach
from ullage.acp.proxy.session import ProxiedSession
from ullage.api.error_object import error_object
from ullage.jsonrpc.envelope import ErrorResponse
from ullage.model.edits import EditTrigger
from ullage.model.errors import AgentError
from ullage.model.events import AgentAttached
from ullage.service.workspace import Workspace


async def bring_back(connection: Connection, session: ProxiedSession | None) -> dict[str, Any]:
    """Has the agent running and the session open in it, as they were; what it answers to that, if it was asked. Raises
    `AgentError`, `InputError`, `StoreUnavailable`."""
    await _revive(connection)
    if session is None or session.agent_id in connection.live:
        return {}
    workspace = await recorded(connection)
    block = archive.last_block(workspace, session.id)
    if block is not None:
        # Nothing was said in it yet, and few agents keep such a session.
        fresh, opened = await open_fresh(connection, session)
        attach(workspace, session.id, AgentAttached(agent=connection.agent_name, session_id=fresh))
        session.agent_id, session.seed = fresh, seed_of(block)
        return opened
    try:
        return await reopen(connection, session, session.agent_id)
    except AgentError:
        summary = await archive.offline_summary(workspace, workspace.session(session.id), "")
        return (await move(connection, session, workspace, summary, EditTrigger.AUTOMATIC)).opened


async def record_rest(connection: Connection, session: ProxiedSession) -> None:
    """Records what the agent has said so far, though no more of it will come."""
    messages = tuple(session.turn.end())

    async def job(workspace: Workspace) -> None:
        await add_messages(workspace, session.id, messages)

    if messages:
        await connection.recorder.put(job)


async def mourn(connection: Connection, how: str) -> None:
    """The agent has ended: whoever waits for it is told why, and what to do."""
    reason = (
        f"the agent {connection.agent_name} ended ({how}); the conversation is kept, the next prompt starts it again"
    )
    error = error_object(AgentError(reason))
    connection.live.clear()
    connection.muted.clear()
    waiting, connection.pending = connection.pending, {}
    for frame_id in waiting:
        connection.client.insert(line(ErrorResponse(id=frame_id, error=error)))
    for session in connection.sessions.values():
        session.prompts.clear()
        session.native = None
        await record_rest(connection, session)


async def _revive(connection: Connection) -> None:
    async with connection.reviving:
        if connection.agent.alive:
            return
        await connection.agent.start()
        connection.learn_agent(await connection.agent.request("initialize", connection.greeting))
        if connection.credentials:
            await connection.agent.request("authenticate", connection.credentials)
