"""Going on after an end: of the agent, which is started again, and of a session, which is opened or begun again."""

from typing import Any

from ullage.api.codes import error_object
from ullage.jsonrpc.envelope import ErrorResponse, RequestId, Response
from ullage.model.edits import EditTrigger
from ullage.model.errors import AgentError, UllageError
from ullage.proxy.agent_sessions import open_fresh, reopen
from ullage.proxy.connection import Connection
from ullage.proxy.handover import move, seed_of
from ullage.proxy.pipe.agent import FailPending
from ullage.proxy.pipe.frames import line
from ullage.proxy.record.compactions import last_block, offline_summary
from ullage.proxy.record.recording import record_messages
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.session import ProxiedSession, Sessions
from ullage.proxy.slash_commands import offer_commands
from ullage.proxy.state import State
from ullage.proxy.to_client import send_history, send_usage


async def revive(connection: Connection) -> None:
    """Has the agent running, greeted and signed in to as before. Raises `AgentError`, `InvalidRequest`."""
    async with connection.reviving:
        if connection.agent.alive:
            return
        await connection.agent.start()
        connection.learn_agent(await connection.agent.request("initialize", connection.greeting))
        if connection.credentials:
            await connection.agent.request("authenticate", connection.credentials)


async def reopen_held(session: ProxiedSession) -> dict[str, Any]:
    """Has a held session open in a running agent; the agent's answer, which is empty if it was open. An agent that
    cannot open it gets a fresh session with a summary. Raises `AgentError`, `InvalidRequest`, `StoreUnavailable`."""
    await revive(session.connection)
    if session.state is not State.REOPENING:
        return {}
    record = await session.record()
    block = last_block(record)
    if block is not None:
        # Nothing was said in it yet, and few agents keep such a session.
        fresh, opened = await open_fresh(session)
        record.attach(session.attachment(fresh))
        session.moved(fresh, seed_of(block))
        return opened
    try:
        opened = await reopen(session, session.agent_id)
    except AgentError:
        summary = await offline_summary(record, "")
        return (await move(session, record, summary, EditTrigger.AUTOMATIC)).opened
    session.opened()
    return opened


async def reopen_lost(session: ProxiedSession) -> None:
    """Has a lost session open again, for a request that is no prompt. Raises as `reopen_held`."""
    async with session.order:
        if session.state is State.LOST:
            with session.held():
                await reopen_held(session)


async def reopen_recorded(
    session: ProxiedSession, record: SessionRecord, request_id: RequestId | None, *, replays: bool
) -> None:
    """Answers a request to open a lost session that is recorded, whatever of it the agent still has. `replays`: the
    client wants its history."""
    client = session.connection.client
    async with session.order:
        try:
            with session.held():
                opened = await reopen_held(session)
                if replays:
                    await send_history(session, record)
        except UllageError as error:
            client.insert(line(ErrorResponse(id=request_id, error=error_object(error))))
            return
    said = {name: value for name, value in opened.items() if name != "sessionId"}
    client.insert(line(Response(id=request_id, result=said)))
    offer_commands(session)
    send_usage(session, record)


def agent_ended(sessions: Sessions) -> FailPending:
    """Called when the agent's output ends. Returns a function that fails the requests pending at that moment (not later
    ones) with the exit reason."""
    connection = sessions.connection
    waiting = connection.agent_ended()
    for session in sessions:
        connection.spawn(record_messages(session, session.agent_ended()))

    def fail_pending(reason: str) -> None:
        kept = "the conversation is kept, and the next prompt starts the agent again"
        error = error_object(AgentError(f"the agent {connection.agent_name} ended ({reason}); {kept}"))
        for request_id in waiting:
            connection.client.insert(line(ErrorResponse(id=request_id, error=error)))

    return fail_pending
