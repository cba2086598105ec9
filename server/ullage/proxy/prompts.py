"""Handles the client's prompts: forwards them at once, or holds them.

A prompt is held while the proxy makes room, runs a slash command or has the session opened again.
"""

import logging
from functools import partial
from typing import Any

from msgspec.structs import replace

from ullage.agents.acp import occupancy_of_answer, refusal_of
from ullage.model import words
from ullage.model.errors import UllageError
from ullage.model.events import EditTrigger
from ullage.model.json_values import as_list, as_objects, as_text
from ullage.proxy.agent_sessions import close_aside, copy_session, prompt_agent
from ullage.proxy.answers import Refusal, TurnEnds, answers_of
from ullage.proxy.compactions import NativeCompaction
from ullage.proxy.handover import Move, continue_in, describe, find_agent, hand_over, tell_begun_again, undo
from ullage.proxy.lines import Frame, Piece, fields, with_params
from ullage.proxy.opening import reopen_held
from ullage.proxy.recording import record_compaction, record_messages, record_occupancy
from ullage.proxy.session import Prompt, ProxiedSession
from ullage.proxy.session_life import State, refusal
from ullage.proxy.to_client import (
    CONTINUE_IN,
    SlashCommand,
    compacting_command,
    is_ours,
    read_command,
    send_held_notices,
    send_text,
    send_usage,
)
from ullage.proxy.turn_messages import prompt_message

_log = logging.getLogger(__name__)


async def take_prompt(session: ProxiedSession, piece: Piece, frame: Frame) -> None:
    """Handles a `session/prompt` of a known session: forwards it at once if possible, otherwise starts a task that
    holds it. The prompt gets exactly one answer in every case."""
    prompt = Prompt(id=frame.known_id, line=piece.data, content=as_list(fields(frame.params).get("prompt")))
    ours = _own_command(session, prompt) is not None
    if session.passes and not ours and not session.seed and not session.is_full:
        await _forward(session, prompt, session.mapped(piece))
    else:
        session.holds.add(
            prompt.id,
            _handle_held(session, prompt),
            cancelled=partial(answers_of(session.connection).cancel, session, prompt),
        )


async def _handle_held(session: ProxiedSession, prompt: Prompt) -> None:
    """Handles a held prompt once the held prompts before it are handled. An error becomes the answer to the prompt."""
    async with session.holds.order:
        try:
            if session.busy:
                await _handle_during_turn(session, prompt)
            else:
                with session.held():
                    answers_of(session.connection).begin(session)
                    command = _own_command(session, prompt)
                    if command is not None and command.name == CONTINUE_IN:
                        # The present agent is not needed, so a session that is lost is not opened again.
                        continued = await continue_in(
                            session, Move(to=await find_agent(session.connection, command.rest))
                        )
                        _reply(session, prompt, describe(session, continued))
                        return
                    reopened = await reopen_held(session)
                    if reopened.edit is not None:
                        tell_begun_again(session, await session.record(), reopened.edit)
                    await _handle_in_hold(session, prompt)
        except UllageError as error:
            send_held_notices(session)
            answers_of(session.connection).refuse(session, prompt, error)


async def _handle_during_turn(session: ProxiedSession, prompt: Prompt) -> None:
    """Handles a prompt while the agent works for the client.

    A prompt, or a command of the agent's own, is forwarded; the agent queues or refuses it. Raises `SessionBusy` for a
    command of the proxy that needs the agent.
    """
    match _own_command(session, prompt):
        case None:
            await _forward(session, prompt, _seeded(session, prompt))
        case SlashCommand(name="compact", rest=rest) as command if own := compacting_command(session):
            await _forward(session, prompt, _renamed(session, prompt, own, rest), renamed=own != command.name)
        case SlashCommand(name="context"):
            await _show_context(session, prompt)
        case _:
            raise refusal(session.state)


async def _handle_in_hold(session: ProxiedSession, prompt: Prompt) -> None:
    """Handles the prompt of a held session: runs it if it is a slash command of the proxy, otherwise makes room if
    necessary and forwards it."""
    match _own_command(session, prompt):
        case None:
            if session.is_full:
                await _make_room(session)
            await _forward(session, prompt, _seeded(session, prompt))
        case SlashCommand(name="compact", rest=rest) as command if own := compacting_command(session):
            await _begin_native(session, EditTrigger.MANUAL)
            await _forward(session, prompt, _renamed(session, prompt, own, rest), renamed=own != command.name)
        case SlashCommand(name="compact", rest=focus):
            _reply(session, prompt, await hand_over(session, focus, EditTrigger.MANUAL))
        case SlashCommand(name="undo"):
            _reply(session, prompt, await undo(session))
        case _:
            await _show_context(session, prompt)


async def _continue_elsewhere(session: ProxiedSession, prompt: Prompt, refusal: Refusal, reason: str) -> None:
    """Continues the conversation in the next agent that can, and sends it the prompt that the present one has refused.
    If none can, the client gets the refusal."""
    former = session.connection
    async with session.holds.order:
        for other in former.agents[former.number + 1 :]:
            try:
                with session.held():
                    continued = await continue_in(session, Move(to=other, refused=True))
                    text = f"{words.refused_by(former.agent_name, reason)}\n{describe(session, continued)}\n\n"
                    send_text(session, text)
                    # A compaction has archived the prompt.
                    await _forward(session, prompt, _seeded(session, prompt), records=continued.edit is not None)
            except UllageError as error:
                _log.warning("The conversation does not continue in %s: %s", other.agent_name, error)
            else:
                return
        refusal.tell()


async def _make_room(session: ProxiedSession) -> None:
    """Compacts before a prompt: by the agent's own compacting command if it has one, otherwise by a handover.

    If that fails, the client is sent the reason as text, and the context is unchanged. Raises `AgentError` if the agent
    has ended.
    """
    record = await session.record()
    session.left_at = record.used
    try:
        if own := compacting_command(session):
            await _begin_native(session, EditTrigger.AUTOMATIC)
            with session.compacting():
                await prompt_agent(session, session.agent_id, f"/{own}")
            await record_messages(session, session.rest())
            record_compaction(session, await session.record())
        else:
            send_text(session, await hand_over(session, "", EditTrigger.AUTOMATIC) + "\n\n")
    except UllageError as error:
        if session.state is State.LOST:
            raise
        send_text(session, words.compaction_failed(str(error)) + "\n\n")
    session.left_at = record.used


async def _begin_native(session: ProxiedSession, trigger: EditTrigger) -> None:
    """Prepares for the agent's own compacting command: stores the context's size, and has the agent copy the session
    for an undo if it can."""
    record, reported = await session.record(), session.facts.reported
    used = record.used if reported is None else reported
    copy = await copy_session(session)
    session.compaction = NativeCompaction(used_before=used, trigger=trigger, asked=True, copy=copy)
    close_aside(session, copy)


async def _forward(
    session: ProxiedSession, prompt: Prompt, piece: Piece, *, records: bool = True, renamed: bool = False
) -> None:
    """Forwards a prompt to the agent, and with `records` records it as a message. `piece` is the line to send;
    `renamed` is true if it has another command than the client has sent."""
    connection, changed = session.connection, renamed or bool(session.seed)
    session.forwards(prompt.id)
    session.holds.leave()
    sent = replace(prompt, changed=changed)
    connection.pending[prompt.id] = answers_of(connection).forward(
        session, sent, TurnEnds(complete=complete, refused=_continues)
    )
    connection.agent.pass_on(piece)
    message = prompt_message(prompt.content)
    if not records:
        return
    if session.state is State.OPENING:
        session.early.append(message)
    else:
        await record_messages(session, (message,))


def _continues(session: ProxiedSession, prompt: Prompt, refusal: Refusal) -> bool:
    """Handles the agent's refusal of a prompt. Returns whether the conversation continues in the next agent, because
    the reason is one that another agent need not have; the client then does not get the refusal."""
    # Not if there is no further agent, or if this one still works on another prompt.
    is_last = session.connection.number + 1 == len(session.connection.agents)
    reason = "" if is_last or session.state is not State.IDLE else refusal_of(refusal.error)
    if not reason:
        return False
    handling = _continue_elsewhere(session, prompt, refusal, reason)
    session.holds.add(prompt.id, handling, cancelled=partial(answers_of(session.connection).cancel, session, prompt))
    return True


async def complete(session: ProxiedSession, result: dict[str, Any]) -> None:
    """Ends a turn: records its remaining messages, and sends the client the context's size if the agent doesn't report
    it. `result` is what the agent has said of the turn's end."""
    await record_messages(session, session.rest())
    occupancy = None if session.facts.reports_usage else occupancy_of_answer(result)
    if occupancy is not None:
        session.facts.take_occupancy(occupancy)
    record = await session.settled()
    if record is not None:
        # Before the figure, which is that of the compacted context.
        record_compaction(session, record)
    session.facts.end_turn()
    await record_occupancy(session)
    record = await session.settled()
    if record is not None and not session.facts.reports_usage:
        send_usage(session, record)
    send_held_notices(session)


async def _show_context(session: ProxiedSession, prompt: Prompt) -> None:
    _reply(session, prompt, (await session.record()).context_text())


def _reply(session: ProxiedSession, prompt: Prompt, text: str) -> None:
    answers_of(session.connection).reply(session, prompt, text)


def _own_command(session: ProxiedSession, prompt: Prompt) -> SlashCommand | None:
    texts = (as_text(part.get("text")) for part in as_objects(prompt.content) if part.get("type") == "text")
    command = read_command(next(texts, ""))
    return command if command is not None and is_ours(session, command) else None


def _seeded(session: ProxiedSession, prompt: Prompt) -> Piece:
    """Returns the prompt's line with the agent's session id, and with the session's `seed` as its first text if there
    is one."""
    changes: dict[str, Any] = {}
    if session.agent_id != session.id:
        changes["sessionId"] = session.agent_id
    if session.seed:
        changes["prompt"] = [{"type": "text", "text": session.seed}, *prompt.content]
    return Piece(with_params(prompt.line, changes) if changes else prompt.line)


def _renamed(session: ProxiedSession, prompt: Prompt, own: str, rest: str) -> Piece:
    """Returns the prompt's line with the agent's name `own` of the compacting command in place of `/compact`, and with
    the agent's session id."""
    if own == "compact":
        return _seeded(session, prompt)
    text = [{"type": "text", "text": f"/{own} {rest}".strip()}]
    return Piece(with_params(prompt.line, {"sessionId": session.agent_id, "prompt": text}))
