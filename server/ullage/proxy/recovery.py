"""Recovers from the end of the agent's process or the loss of a session.

An agent that has ended is started again. A lost session is opened again, or the conversation continues in a fresh one.
"""

from typing import Any

from msgspec import Struct

from ullage.api.codes import acp_error_object
from ullage.jsonrpc.envelope import ErrorResponse, Notification, RequestId, Response
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.errors import AgentError, UllageError
from ullage.proxy.agent_sessions import open_fresh, reopen
from ullage.proxy.answers import answers_of, show_current_state
from ullage.proxy.connection import Connection
from ullage.proxy.handover import move, seed_of
from ullage.proxy.pipe.agent import FailPending
from ullage.proxy.pipe.frames import line
from ullage.proxy.record.compactions import last_block, offline_summary
from ullage.proxy.record.recording import record_messages
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.reviving import revive
from ullage.proxy.session import ProxiedSession
from ullage.proxy.sessions import Sessions
from ullage.proxy.slash_commands import list_commands
from ullage.proxy.state import State
from ullage.proxy.to_client import send_history, send_usage


class Reopened(Struct, frozen=True, kw_only=True):
    """A session that is open again: the agent's result, empty if the session was open. `edit` is the compaction with
    which the conversation continues in a fresh session, or None if the agent has opened the session itself."""

    opened: dict[str, Any] = {}
    edit: CompactionEdit | None = None


async def reopen_held(session: ProxiedSession) -> Reopened:
    """Has the agent open a held session that was lost. Starts the agent if it doesn't run.

    If the agent can't open the session, the conversation moves to a fresh session with a summary. Raises `AgentError`,
    `InvalidRequest` or `StoreUnavailable`.
    """
    await revive(session.connection)
    if session.state is not State.REOPENING:
        return Reopened()
    record = await session.record()
    block = last_block(record)
    if block is not None:
        # The agent's session is empty since the compaction, and few agents keep an empty session.
        fresh, opened = await open_fresh(session)
        record.attach(session.attachment(fresh))
        session.moved(fresh, seed_of(block))
        return Reopened(opened=opened)
    try:
        opened = await reopen(session, session.agent_id)
    except AgentError:
        summary = await offline_summary(record, "")
        moved = await move(session, record, summary, EditTrigger.AUTOMATIC)
        return Reopened(opened=moved.opened, edit=moved.edit)
    session.opened()
    return Reopened(opened=opened)


async def reopen_lost(session: ProxiedSession) -> None:
    """Has the agent open a lost session again, before a request other than a prompt. Does nothing if the session is not
    lost. Raises the errors of `reopen_held`."""
    async with session.holds.order:
        if session.state is State.LOST:
            with session.held():
                await reopen_held(session)


async def reopen_recorded(
    session: ProxiedSession, record: SessionRecord, request_id: RequestId | None, *, replays: bool
) -> None:
    """Opens a lost session from its record and answers the client's `session/load` or `session/resume`, whether or not
    the agent still has the session.

    If `replays` is true, the client is sent the session's history before the answer. An error becomes the answer.
    """
    client = session.connection.client
    async with session.holds.order:
        try:
            with session.held():
                opened = (await reopen_held(session)).opened
                if replays:
                    await send_history(session, record)
        except UllageError as error:
            client.insert(line(ErrorResponse(id=request_id, error=acp_error_object(error))))
            return
    said = {name: value for name, value in opened.items() if name != "sessionId"}
    show_current_state(session)
    client.insert(line(Response(id=request_id, result=session.connection.shapes.opened_again(said))))
    list_commands(session)
    send_usage(session, record)


def agent_ended(sessions: Sessions, connection: Connection) -> FailPending:
    """Marks all sessions of the connection as lost, and takes the agent's open requests to the client back, after the
    agent's output has ended.

    Returns a function that takes the exit reason and answers, with an error, the client's requests that were pending
    when the output ended.
    """
    for request_id in connection.asked:
        taken_back = Notification(method="$/cancel_request", params={"requestId": request_id})
        connection.client.insert(line(taken_back))
    waiting = connection.agent_ended()
    lost = [session for session in sessions if session.connection is connection]
    # A prompt that comes before the exit reason is known has not failed: it starts the agent again.
    working = [session for session in lost if session.busy]
    for session in lost:
        connection.spawn(record_messages(session, session.agent_ended()))

    def fail_pending(reason: str) -> None:
        kept = "the conversation is kept, and the next prompt starts the agent again"
        error = AgentError(f"the agent {connection.agent_name} ended ({reason}); {kept}")
        for request_id in (known for known, pending in waiting.items() if not pending.is_in):
            connection.client.insert(line(ErrorResponse(id=request_id, error=acp_error_object(error))))
        for session in working:
            answers_of(connection).fail(session, error)

    return fail_pending
