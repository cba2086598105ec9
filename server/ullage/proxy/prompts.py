"""Opens sessions for the client, and handles its prompts: forwards them at once, or holds them while the proxy makes
room, runs a slash command or has the session opened again.

If the agent has a former session under the client's id, `session/load` and `session/resume` are forwarded and the agent
opens it. After a handover the agent's id differs: the proxy then requests that session, and answers the client with the
recorded history. So it does after the undo of a handover, because the agent was then sent the later messages as one
text. An agent that has ended is started again; if it cannot open a lost session, the conversation continues in a fresh
one.
"""

import logging
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.acp import occupancy_of_answer, refusal_of
from ullage.jsonrpc.envelope import Notification, RequestId
from ullage.model import words
from ullage.model.errors import AgentError, UllageError
from ullage.model.events import CompactionEdit, EditTrigger, SessionCreated
from ullage.model.json_values import as_list, as_objects, as_text
from ullage.proxy.agent_process import FailPending
from ullage.proxy.answers import Refusal, TurnEnds, answers_of, show_current_state
from ullage.proxy.compactions import NativeCompaction, last_block, offline_summary
from ullage.proxy.connection import Connection, Pending, of_agent, revive
from ullage.proxy.handover import (
    Move,
    close_aside,
    continue_in,
    copy_session,
    describe,
    find_agent,
    hand_over,
    move,
    open_fresh,
    prompt_agent,
    reopen,
    seed_of,
    tell_begun_again,
    undo,
)
from ullage.proxy.lines import Frame, Piece, fields, line, with_params
from ullage.proxy.record import SessionRecord
from ullage.proxy.recording import record_compaction, record_messages, record_occupancy
from ullage.proxy.session import Prompt, ProxiedSession, Sessions
from ullage.proxy.session_life import State, refusal
from ullage.proxy.to_client import (
    CONTINUE_IN,
    SlashCommand,
    compacting_command,
    is_ours,
    list_commands,
    offer_commands,
    offer_late,
    read_command,
    send_held_notices,
    send_history,
    send_text,
    send_usage,
)
from ullage.proxy.turn_messages import prompt_message

_LOAD = "session/load"


def pending_new(sessions: Sessions, parent: ProxiedSession | None, frame: Frame) -> Pending:
    """Returns the `Pending` for a request `session/new`, or for `session/fork` of `parent`. When the agent answers it,
    the answer is forwarded and the new session's record begins."""
    params = fields(frame.params)
    answered = partial(_on_created, sessions, parent, params)
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
    request_id = frame.known_id
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
    answered = partial(_on_loaded, sessions, _Load(session, request_id, replays))
    connection.pending[request_id] = Pending(method=method, answered=answered)
    connection.agent.pass_on(piece)


async def _on_created(
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


async def _on_loaded(sessions: Sessions, asked: _Load, piece: Piece, frame: Frame) -> None:
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
    facts, result = session.facts, session.connection.shapes.opened(result)
    facts.take_opened(result)
    if session.state is State.OPENING:
        session.opened()
    replayed, early = session.take_replayed(), tuple(session.early)
    session.early.clear()
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
    async with session.holds.order:
        try:
            with session.held():
                opened = (await reopen_held(session)).opened
                if replays:
                    await send_history(session, record)
        except UllageError as error:
            session.connection.refuse(request_id, error)
            return
    said = {name: value for name, value in opened.items() if name != "sessionId"}
    show_current_state(session)
    session.connection.answer(request_id, session.connection.shapes.opened_again(said))
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
            connection.refuse(request_id, error)
        for session in working:
            answers_of(connection).fail(session, error)

    return fail_pending


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
