"""What the proxy does about a prompt before the agent gets it, or in the agent's place."""

import asyncio
from typing import Any

from msgspec import Struct

from ullage.acp.context_text import context_text
from ullage.api.error_object import error_object
from ullage.api.values import usage_result
from ullage.jsonrpc.envelope import ErrorResponse, RequestId, Response
from ullage.model import words
from ullage.model.edits import EditTrigger
from ullage.model.errors import UllageError
from ullage.model.json_values import as_list
from ullage.model.message import Message, Role
from ullage.proxy import native
from ullage.proxy.commands import Command, compacting_command, is_ours, read_command
from ullage.proxy.connection import Connection, Pending
from ullage.proxy.content import blocks_of, text_of
from ullage.proxy.handover import hand_over, prompt_agent, recorded, undo
from ullage.proxy.pipe.frames import line, with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.learning import record_messages
from ullage.proxy.record.recorder import find_session
from ullage.proxy.recovery import bring_back
from ullage.proxy.session import ProxiedSession
from ullage.proxy.telling import say, tell_held

# A context that stayed full after a compaction is not compacted again before it has grown by this share.
_TRY_AGAIN = 1.05


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of the client's as it came."""

    id: RequestId | None
    line: bytes
    content: list[Any]

    @property
    def command(self) -> Command | None:
        """The slash command that it is, if it is one."""
        return read_command(text_of(self.content))


def passes(connection: Connection, session: ProxiedSession, prompt: Prompt) -> bool:
    """Whether a prompt may go to the agent as it is, at once."""
    idle = not session.order.locked() and connection.agent.alive and connection.is_open(session)
    command = prompt.command
    ours = command is not None and is_ours(session, command)
    return idle and not ours and not session.seed and not _is_full(connection, session)


def start(connection: Connection, session: ProxiedSession, prompt: Prompt, piece: Piece) -> Message:
    """Gives a prompt to the agent; the message to record."""
    session.prompts.add(prompt.id)
    session.rounds = 0
    connection.pending[prompt.id] = Pending("session/prompt", session.id, {})
    connection.agent.pass_on(piece)
    return Message(id="", role=Role.USER, content=blocks_of(prompt.content))


def begin(connection: Connection, session: ProxiedSession, prompt: Prompt) -> None:
    """Sees to a prompt that may not pass as it is. Whatever happens, it gets one answer."""

    def ended(task: "asyncio.Task[None]") -> None:
        # One that is cancelled before its first step can answer nothing itself.
        if task.cancelled():
            _answer(connection, prompt, "cancelled")

    session.acting = connection.spawn(_see_to(connection, session, prompt))
    session.acting.add_done_callback(ended)


async def _see_to(connection: Connection, session: ProxiedSession, prompt: Prompt) -> None:
    async with session.order:
        try:
            await bring_back(connection, session)
            await _act(connection, session, prompt)
        except UllageError as error:
            tell_held(connection, session)
            connection.client.insert(line(ErrorResponse(id=prompt.id, error=error_object(error))))


async def _act(connection: Connection, session: ProxiedSession, prompt: Prompt) -> None:
    command = prompt.command
    if command is None or not is_ours(session, command):
        if _is_full(connection, session):
            await _compact_first(connection, session)
        await _forward(connection, session, prompt, _as_seeded(session, prompt))
    elif command.name == "compact" and (own := compacting_command(connection, session)):
        await native.begin(connection, session, EditTrigger.MANUAL)
        await _forward(connection, session, prompt, _renamed(session, prompt, own, command.rest))
    else:
        say(connection, session, await _carry_out(connection, session, command))
        _answer(connection, prompt, "end_turn")


async def _carry_out(connection: Connection, session: ProxiedSession, command: Command) -> str:
    match command.name:
        case "compact":
            return await hand_over(connection, session, command.rest, EditTrigger.MANUAL)
        case "undo":
            return await undo(connection, session)
        case _:
            workspace = await recorded(connection)
            return context_text(usage_result(workspace.open(session.id)))


async def _compact_first(connection: Connection, session: ProxiedSession) -> None:
    """Makes room before a prompt, by the agent's own command if it has one. If that fails, the prompt goes on."""
    session.tried_at = (await recorded(connection)).open(session.id).used
    try:
        if own := compacting_command(connection, session):
            await native.begin(connection, session, EditTrigger.AUTOMATIC)
            await prompt_agent(connection, session.agent_id, f"/{own}")
            await record_messages(connection, session, tuple(session.turn.end()))
            native.finish(connection, session, await recorded(connection))
        else:
            say(connection, session, await hand_over(connection, session, "", EditTrigger.AUTOMATIC) + "\n\n")
    except UllageError as error:
        say(connection, session, words.compaction_failed(str(error)) + "\n\n")


async def _forward(connection: Connection, session: ProxiedSession, prompt: Prompt, data: bytes) -> None:
    message = start(connection, session, prompt, Piece(data))
    session.seed = ""
    await record_messages(connection, session, (message,))


def _as_seeded(session: ProxiedSession, prompt: Prompt) -> bytes:
    changes: dict[str, Any] = {}
    if session.agent_id != session.id:
        changes["sessionId"] = session.agent_id
    if session.seed:
        changes["prompt"] = [{"type": "text", "text": session.seed}, *prompt.content]
    return with_params(prompt.line, changes) if changes else prompt.line


def _renamed(session: ProxiedSession, prompt: Prompt, own: str, rest: str) -> bytes:
    """The command by the agent's name for it; untouched where that is the name it has."""
    if own == "compact":
        return _as_seeded(session, prompt)
    text = [{"type": "text", "text": f"/{own} {rest}".strip()}]
    return with_params(prompt.line, {"sessionId": session.agent_id, "prompt": text})


def _is_full(connection: Connection, session: ProxiedSession) -> bool:
    """Whether the agent's context has reached the threshold, and making room has not just been tried in vain."""
    workspace = connection.recorder.workspace
    open_session = find_session(workspace, session.id) if workspace else None
    if open_session is None or session.busy:
        return False
    budget = open_session.budget
    if budget is None or not open_session.settings.enabled:
        return False
    return open_session.used >= budget.compact_at and open_session.used >= session.tried_at * _TRY_AGAIN


def _answer(connection: Connection, prompt: Prompt, stop_reason: str) -> None:
    connection.client.insert(line(Response(id=prompt.id, result={"stopReason": stop_reason})))


def read_prompt(frame_id: RequestId | None, data: bytes, params: dict[str, Any]) -> Prompt:
    """A prompt from the client's frame."""
    return Prompt(id=frame_id, line=data, content=as_list(params.get("prompt")))
