"""Opens sessions for the client: new ones and forks, and former ones by `session/load` and `session/resume`.

If the agent has a former session under the client's id, the request is forwarded and the agent opens it. After a
handover the agent's id differs: the proxy then requests that session, and answers the client with the recorded history.
So it does after the undo of a handover, because the agent was then sent the later messages as one text.
"""

from functools import partial
from typing import Any

from msgspec import UNSET, Struct

from ullage.jsonrpc.envelope import RequestId
from ullage.model.events import SessionCreated
from ullage.model.json_values import as_list, as_text
from ullage.proxy.connection import Connection
from ullage.proxy.open_requests import Pending
from ullage.proxy.pipe.frames import Frame, fields
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.recording import record_messages, record_occupancy
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.recovery import reopen_recorded
from ullage.proxy.reviving import of_agent, revive
from ullage.proxy.session import ProxiedSession
from ullage.proxy.sessions import Sessions
from ullage.proxy.slash_commands import offer_commands, offer_late
from ullage.proxy.state import State

_LOAD = "session/load"


def pending_new(sessions: Sessions, parent: ProxiedSession | None, frame: Frame) -> Pending:
    """Returns the `Pending` for a request `session/new`, or for `session/fork` of `parent`. When the agent answers it,
    the answer is forwarded and the new session's record begins."""
    params = fields(frame.params)
    answered = partial(_made, sessions, parent, params)
    return Pending(method=as_text(frame.method), params=params, answered=answered)


def early_session(sessions: Sessions, session_id: str) -> ProxiedSession | None:
    """Adds and returns a new session, whose updates the agent sends before it has answered the client's `session/new`.

    Returns None if the client doesn't wait for a new session, if `session_id` is "", or if a session of this id is
    known already.
    """
    waiting = [pending for pending in sessions.connection.pending.values() if pending.method == "session/new"]
    if not waiting or not session_id or sessions.get(session_id) is not None:
        return None
    session = _session(sessions.connection, session_id, waiting[0].params)
    sessions.put(session)
    return session


async def load(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Handles the client's `session/load` and `session/resume`: has the agent open the former session.

    If the recorded session has another id in the agent, because of a handover, or had one, the proxy itself requests
    that session and answers the client. Otherwise the client's request is forwarded. Raises `AgentError` or
    `InvalidRequest` if the agent can't be started.
    """
    params, method = fields(frame.params), as_text(frame.method)
    request_id = None if frame.id is UNSET else frame.id
    session_id = as_text(params.get("sessionId"))
    # Version 2 has one method to open a session.
    replays = method == _LOAD or params.get("replayFrom") is not None
    workspace = await sessions.connection.recorder.opened()
    record = SessionRecord(workspace, session_id) if workspace else None
    keeper = record.keeper if record else None
    connection = sessions.connection
    if keeper is not None and len(connection.agents) > 1:
        connection = await of_agent(connection, keeper.agent)
    is_elsewhere = connection.number > 0 or (keeper is not None and keeper.session_id != session_id)
    if record is not None and keeper is not None and (is_elsewhere or record.has_returned):
        session = _session(connection, session_id, params, State.LOST)
        session.adopt(keeper)
        await _replace(sessions, session)
        connection.spawn(reopen_recorded(session, record, request_id, replays=replays))
        return
    await revive(connection)
    session = _session(connection, session_id, params)
    await _replace(sessions, session)
    answered = partial(_loaded, sessions, _Load(session, request_id, replays))
    connection.pending[request_id] = Pending(method=method, answered=answered)
    connection.agent.pass_on(piece)


async def _made(
    sessions: Sessions, parent: ProxiedSession | None, params: dict[str, Any], piece: Piece, frame: Frame
) -> None:
    """Handles the agent's answer to `session/new` or `session/fork`: forwards it, and begins the session's record
    unless the answer is an error."""
    sessions.connection.client.pass_on(piece)
    result = fields(frame.result)
    session_id = as_text(result.get("sessionId"))
    if not session_id:
        return
    session = sessions.get(session_id)
    if session is None or session.state is State.LOST:
        # A lost session may have this id, because some agents count their sessions from 1 in each process.
        session = _session(parent.connection if parent else sessions.connection, session_id, params)
        await _replace(sessions, session)
    await _begin(session, result, parent.id if parent else "")


class _Load(Struct, frozen=True):
    """A request of the client to open a former session. `replays` is true if the client wants the session's history
    (`session/load`)."""

    session: ProxiedSession
    request_id: RequestId | None
    replays: bool


async def _loaded(sessions: Sessions, asked: _Load, piece: Piece, frame: Frame) -> None:
    """Handles the agent's answer to a forwarded `session/load` or `session/resume`.

    If the agent refuses but the session is recorded, it is opened from the record.
    """
    connection, session = sessions.connection, asked.session
    if session.state is not State.OPENING:
        # The client has closed the session meanwhile, or has asked for it again.
        connection.client.pass_on(piece)
        return
    if not memoryview(frame.error):
        connection.client.pass_on(piece)
        await _begin(session, fields(frame.result), "")
        return
    session.refused()
    workspace = await connection.recorder.opened()
    record = SessionRecord(workspace, session.id) if workspace else None
    if record is not None and record.exists:
        # The agent no longer has the session, but the record has.
        connection.spawn(reopen_recorded(session, record, asked.request_id, replays=asked.replays))
    else:
        connection.client.pass_on(piece)
        sessions.drop(session)


async def _begin(session: ProxiedSession, result: dict[str, Any], parent_id: str) -> None:
    """Begins the record of a session that the agent has opened, or continues the record if there is one."""
    facts, result = session.facts, session.connection.shapes.opened(result)
    facts.take_opened(result)
    if session.state is State.OPENING:
        session.opened()
    replayed, early = session.take_replayed(), session.take_early()
    attached = session.attachment(session.agent_id)
    created = SessionCreated(cwd=session.cwd, model=facts.model)
    # An option may name the model by an alias; the record of an existing session has the real name.
    model = facts.model if facts.reports_model else ""

    async def job(record: SessionRecord) -> None:
        if record.exists:
            if model:
                record.change_model(model)
        elif parent_id:
            record.begin_fork(parent_id, attached)
        else:
            record.begin(created, attached)
            await record.add(replayed)
        await record.add(early)

    await session.put(job)
    if facts.occupancy is not None:
        await record_occupancy(session)
    if "availableCommands" in result:
        offer_commands(session)
    else:
        session.connection.spawn(offer_late(session))


def _session(
    connection: Connection, session_id: str, params: dict[str, Any], state: State = State.OPENING
) -> ProxiedSession:
    cwd, mcp_servers = as_text(params.get("cwd")), as_list(params.get("mcpServers"))
    return ProxiedSession(connection, session_id, cwd, mcp_servers, state)


async def _replace(sessions: Sessions, session: ProxiedSession) -> None:
    """Adds a session to those of the connection.

    If the client had a session of the same id open, that one is closed and its remaining messages are recorded.
    """
    await record_messages(session, sessions.put(session))
