"""Deletes a conversation for the client: every session of the agent that belongs to it, and the record."""

import logging
from collections.abc import Sequence
from functools import partial

from msgspec import UNSET

from ullage.api.codes import acp_error_object
from ullage.jsonrpc.envelope import ErrorResponse, Response
from ullage.model.errors import AgentError, UllageError
from ullage.model.json_values import as_text
from ullage.proxy.open_requests import Pending
from ullage.proxy.pipe.frames import Frame, fields, line
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.recording import record_messages
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.reviving import revive
from ullage.proxy.sessions import Sessions
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import delete_session

_log = logging.getLogger(__name__)


async def delete(sessions: Sessions, piece: Piece, frame: Frame) -> None:
    """Handles the client's `session/delete`: has the agent delete the other sessions of the conversation, then forwards
    the request. If the agent has deleted any, the record is deleted, too."""
    connection, session_id = sessions.connection, as_text(fields(frame.params).get("sessionId"))
    others = _others(await connection.recorder.opened(), session_id)
    if connection.agent.alive and not others:
        _forward(sessions, session_id, piece, frame, deleted=False)
    else:
        connection.spawn(_delete(sessions, session_id, others, piece, frame))


async def _delete(sessions: Sessions, session_id: str, others: Sequence[str], piece: Piece, frame: Frame) -> None:
    connection = sessions.connection
    try:
        await revive(connection)
    except UllageError as error:
        known_id = None if frame.id is UNSET else frame.id
        connection.client.insert(line(ErrorResponse(id=known_id, error=acp_error_object(error))))
        return
    deleted = await _delete_others(sessions, session_id, others)
    _forward(sessions, session_id, piece, frame, deleted=deleted)


def _forward(sessions: Sessions, session_id: str, piece: Piece, frame: Frame, *, deleted: bool) -> None:
    connection = sessions.connection
    if frame.id is not UNSET:
        answered = partial(_answered, sessions, session_id, deleted)
        connection.pending[frame.id] = Pending(method="session/delete", answered=answered)
    # Another line may be on its way in pieces.
    connection.agent.insert(piece.data)


def _others(workspace: Workspace | None, session_id: str) -> Sequence[str]:
    """Returns the agent's ids of the other sessions of the conversation."""
    attached = workspace.ports.store.attached() if workspace else ()
    owner = next((one for one in attached if one.session_id == session_id), None)
    return [agent_id for agent_id in owner.agent_ids if agent_id != session_id] if owner else []


async def _delete_others(sessions: Sessions, session_id: str, others: Sequence[str]) -> bool:
    """Has the agent delete these sessions. Returns whether it has deleted one. An error is only logged."""
    deleted = False
    for other in others:
        # The record does not say of which agent each session is, and the ids of agents differ.
        for connection in (one for one in sessions.connection.agents if one.agent.alive):
            connection.set_aside(other)
            try:
                await connection.agent.request("session/delete", {"sessionId": other})
                deleted = True
                break
            except AgentError as error:
                # Few agents keep a session in which nothing was said.
                _log.info("Session %s of %s is not deleted: %s", other, session_id, error)
    return deleted


async def _answered(sessions: Sessions, session_id: str, deleted: bool, piece: Piece, frame: Frame) -> None:
    """Handles the agent's answer to the client's `session/delete`. `deleted` is true if the agent has deleted another
    session of the conversation: then it may have dropped this one before, which is no error to the client."""
    connection = sessions.connection
    refused = bool(memoryview(frame.error))
    if refused and deleted:
        known_id = None if frame.id is UNSET else frame.id
        connection.client.insert(line(Response(id=known_id, result={})))
    else:
        connection.client.pass_on(piece)
    if refused and not deleted:
        return
    session = sessions.get(session_id)
    if session is not None:
        await record_messages(session, sessions.drop(session))
    await connection.recorder.put(partial(_delete_record, session_id))


async def _delete_record(session_id: str, workspace: Workspace) -> None:
    if SessionRecord(workspace, session_id).exists:
        await delete_session(workspace, session_id)
