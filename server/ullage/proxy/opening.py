"""Sessions as the client has them opened: new ones, forks, and former ones that the agent has under the client's id."""

import asyncio
from typing import Any

from ullage.jsonrpc.envelope import RequestId
from ullage.model.events import SessionCreated
from ullage.model.json_values import as_list, as_text
from ullage.proxy.commands import tell_commands
from ullage.proxy.connection import Connection, Pending
from ullage.proxy.loading import REPLAYING, reopen_recorded
from ullage.proxy.pipe.frames import Frame, fields
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.learning import learn_opened, record_occupancy
from ullage.proxy.record.recorder import add_messages, begin_session, find_session, fork_session
from ullage.proxy.session import ProxiedSession
from ullage.service.conversation.workspace import Workspace

METHODS = ("session/new", "session/fork", "session/load", "session/resume")
# How long an agent has to say what commands it has before ours are offered alone, seconds.
_COMMANDS_PATIENCE = 1.0


def is_awaited(connection: Connection) -> bool:
    """Whether the client waits for a new session."""
    return any(pending.method in ("session/new", "session/fork") for pending in connection.pending.values())


def early_session(connection: Connection, session_id: str) -> ProxiedSession | None:
    """A session that an agent speaks of before it has said that it is open; None if none is awaited."""
    waiting = [pending for pending in connection.pending.values() if pending.method == "session/new"]
    known = session_id in connection.sessions or not session_id
    return _added(connection, session_id, waiting[0].params) if waiting and not known else None


async def opened(connection: Connection, pending: Pending, known: RequestId | None, piece: Piece, frame: Frame) -> None:
    """Passes the answer on, and begins or goes on with the record."""
    result, refused = fields(frame.result), bool(memoryview(frame.error))
    if pending.method in ("session/new", "session/fork"):
        connection.client.pass_on(piece)
        session_id = as_text(result.get("sessionId"))
        if session_id:
            session = connection.sessions.get(session_id) or _added(connection, session_id, pending.params)
            await _begin(connection, session, result, pending.session_id)
        return
    session = connection.sessions.get(pending.session_id)
    if session is None:
        connection.client.pass_on(piece)
        return
    session.loading = False
    workspace = await connection.recorder.opened()
    if refused and workspace is not None and find_session(workspace, session.id) is not None:
        # The agent has lost it; we have not.
        replays = pending.method == REPLAYING
        connection.spawn(reopen_recorded(connection, session, workspace, known, replays=replays))
        return
    connection.client.pass_on(piece)
    if refused:
        connection.sessions.pop(session.id, None)
    else:
        await _begin(connection, session, result, "")


async def _begin(connection: Connection, session: ProxiedSession, result: dict[str, Any], parent_id: str) -> None:
    learn_opened(session, result)
    connection.live.add(session.agent_id)
    replayed, session.replayed = (*session.replayed, *session.turn.end()), ()
    attached = connection.attachment(session, session.agent_id)
    created = SessionCreated(cwd=session.cwd, model=session.model)

    async def job(workspace: Workspace) -> None:
        known = find_session(workspace, session.id) is not None
        if not known and parent_id:
            fork_session(workspace, parent_id, session.id, attached)
        elif not known:
            begin_session(workspace, session.id, created, attached)
            await add_messages(workspace, session.id, replayed)

    await connection.recorder.put(job)
    if session.occupancy is not None:
        await record_occupancy(connection, session)
    connection.spawn(_offer(connection, session))


async def _offer(connection: Connection, session: ProxiedSession) -> None:
    """Offers our commands for an agent that offers none."""
    await asyncio.sleep(_COMMANDS_PATIENCE)
    if not session.commands_told:
        tell_commands(connection, session)


def _added(connection: Connection, session_id: str, params: dict[str, Any]) -> ProxiedSession:
    session = ProxiedSession(session_id, as_text(params.get("cwd")), as_list(params.get("mcpServers")))
    connection.sessions[session_id] = session
    connection.live.add(session_id)
    return session
