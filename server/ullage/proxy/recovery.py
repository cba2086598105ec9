"""Going on after an end: of the agent, which is started again, and of a session, which is opened or begun again."""

from typing import Any

from ullage.api.error_object import error_object
from ullage.jsonrpc.envelope import ErrorResponse
from ullage.model.edits import EditTrigger
from ullage.model.errors import AgentError
from ullage.proxy.connection import Connection
from ullage.proxy.handover import move, open_fresh, recorded, reopen
from ullage.proxy.pipe.agent import Mourn
from ullage.proxy.pipe.frames import line
from ullage.proxy.prompts import seed_of
from ullage.proxy.record import compactions as archive
from ullage.proxy.record.learning import record_messages
from ullage.proxy.record.recorder import attach
from ullage.proxy.session import ProxiedSession


async def bring_back(connection: Connection, session: ProxiedSession | None) -> dict[str, Any]:
    """Has the agent running and the session open in it, as they were; what it answers to that, if it was asked. Raises
    `AgentError`, `InvalidRequest`, `StoreUnavailable`."""
    await _revive(connection)
    if session is None or session.agent_id in connection.live:
        return {}
    workspace = await recorded(connection)
    block = archive.last_block(workspace.open(session.id))
    if block is not None:
        # Nothing was said in it yet, and few agents keep such a session.
        fresh, opened = await open_fresh(connection, session)
        attach(workspace, session.id, connection.attachment(session, fresh))
        session.agent_id, session.seed = fresh, seed_of(block)
        return opened
    try:
        return await reopen(connection, session, session.agent_id)
    except AgentError:
        summary = await archive.offline_summary(workspace.open(session.id), "")
        return (await move(connection, session, workspace, summary, EditTrigger.AUTOMATIC)).opened


def lose(connection: Connection) -> Mourn:
    """The agent is gone. What this returns tells whoever waits for it why, and what to do; nothing that is asked of the
    next agent in the meantime is meant."""
    connection.live.clear()
    connection.muted.clear()
    waiting, connection.pending = connection.pending, {}
    rests = [(session, tuple(session.turn.end())) for session in connection.sessions.values()]
    for session, _ in rests:
        session.loading = False
        session.prompts.clear()
        session.native = None
    name = connection.agent_name or connection.agent.command[0]

    def mourn(how: str) -> None:
        kept = "the conversation is kept, and the next prompt starts the agent again"
        error = error_object(AgentError(f"the agent {name} ended ({how}); {kept}"))
        for frame_id in waiting:
            connection.client.insert(line(ErrorResponse(id=frame_id, error=error)))

    for session, rest in rests:
        connection.spawn(record_messages(connection, session, rest))
    return mourn


async def _revive(connection: Connection) -> None:
    async with connection.reviving:
        if connection.agent.alive:
            return
        await connection.agent.start()
        connection.learn_agent(await connection.agent.request("initialize", connection.greeting))
        if connection.credentials:
            await connection.agent.request("authenticate", connection.credentials)
