"""`session/load` and `session/resume`: of sessions that the agent has under the client's id, passed on; of those that
were handed over, opened under the agent's id, with the history as it was recorded."""

from msgspec import UNSET

from ullage.api.codes import error_object
from ullage.jsonrpc.envelope import ErrorResponse, RequestId, Response
from ullage.model.errors import UllageError
from ullage.model.json_values import as_list, as_text
from ullage.proxy.commands import tell_commands
from ullage.proxy.connection import Connection, Pending
from ullage.proxy.pipe.frames import Frame, fields, line
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.recorder import find_session
from ullage.proxy.recovery import bring_back
from ullage.proxy.session import ProxiedSession
from ullage.proxy.telling import tell_history, tell_usage
from ullage.service.conversation.workspace import Workspace

REPLAYING = "session/load"


async def load(connection: Connection, piece: Piece, frame: Frame) -> None:
    """Sees to a request to open a former session."""
    params, method = fields(frame.params), as_text(frame.method)
    known = None if frame.id is UNSET else frame.id
    session = ProxiedSession(
        as_text(params.get("sessionId")), as_text(params.get("cwd")), as_list(params.get("mcpServers"))
    )
    connection.sessions[session.id] = session
    workspace = await connection.recorder.opened()
    found = find_session(workspace, session.id) if workspace else None
    agent = found.transcript.agent if found else None
    if workspace is not None and agent is not None and agent.session_id != session.id:
        session.agent_id, session.window = agent.session_id, agent.window
        connection.live.discard(agent.session_id)
        connection.spawn(reopen_recorded(connection, session, workspace, known, replays=method == REPLAYING))
    else:
        session.loading = True
        if not connection.agent.alive:
            await bring_back(connection, None)
        connection.pending[known] = Pending(method, session.id, params)
        connection.agent.pass_on(piece)


async def reopen_recorded(
    connection: Connection, session: ProxiedSession, workspace: Workspace, known: RequestId | None, *, replays: bool
) -> None:
    """Opens a session as it was recorded, whatever of it the agent still has."""
    try:
        opened = await bring_back(connection, session)
    except UllageError as error:
        connection.client.insert(line(ErrorResponse(id=known, error=error_object(error))))
        return
    if replays:
        await tell_history(connection, session, workspace)
    said = {name: value for name, value in opened.items() if name != "sessionId"}
    connection.client.insert(line(Response(id=known, result=said)))
    tell_commands(connection, session)
    tell_usage(connection, session, workspace)
