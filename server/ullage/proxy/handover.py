"""The proxy's own requests to an agent about its sessions (open a fresh one, copy one, open a former one again, send a
prompt), and by these: continues a conversation in a fresh session, of the same agent or of another, under the id that
the client knows.

With each session that is opened, the agent is offered Ullage's MCP server, by which it looks up what was compacted
away. It starts with the session's id where that is known: after a handover the agent has another id of the session,
under which its own file has little of it.

A compaction by a handover begins the session with a summary: the agent writes it, and Ullage's ledger is added. Another
agent is sent the whole conversation if that fits, otherwise a summary. The session that is left stays as it was, so an
undo returns to it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model import words
from ullage.model.errors import AgentError, AnswerBroken, InvalidRequest, NothingToCompact, UllageError
from ullage.model.events import AgentAttached, CompactionEdit, EditTrigger, ModelChanged, compaction_block
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text, encode_json
from ullage.model.message import (
    CompactionBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)
from ullage.model.updates import CompactionMeta, CompactionStatus, CompactionUpdate, Meta, TextContent
from ullage.proxy.compactions import (
    SMALL_WINDOW,
    Archiving,
    accept_summary,
    archive,
    has_messages,
    offline_summary,
    take_back,
    undoable,
)
from ullage.proxy.connection import Connection, of_agent, revive
from ullage.proxy.lines import Frame, Piece, fields, peek, with_params
from ullage.proxy.record import SessionRecord
from ullage.proxy.session import ProxiedSession
from ullage.proxy.session_life import State
from ullage.proxy.to_client import list_commands, send_compaction, send_options, send_text, send_usage
from ullage.redaction.clean import hide_text, redact

# Is called with a session and the agent's id of another that the agent has made for it.
Noted = Callable[[ProxiedSession, str], Awaitable[None]]
NAME = "ullage"
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
# Those that name the session that is opened. A fork gets an id of its own.
_NAMING = frozenset({"session/load", "session/resume"})
_raw_list = msgspec.json.Decoder(list[Raw])
_raw_fields = msgspec.json.Decoder(dict[str, Raw])


async def open_fresh(session: ProxiedSession, at: Connection | None = None) -> tuple[str, dict[str, Any]]:
    """Requests a new session from the agent, or from the agent at the connection `at`. If that is the session's own,
    sets in it the mode and the config options of this one.

    Returns the agent's id of the new session and the agent's result of `session/new`. The new session is an aside, so
    the client is sent none of its updates. Raises `AgentError`.
    """
    params = {"cwd": session.cwd, "mcpServers": _servers(session)}
    connection = at or session.connection
    fresh, opened = await _make(session, connection, "session/new", params)
    if connection is session.connection:
        await _set_up(session, fresh, opened)
    return fresh, opened


async def reopen(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> dict[str, Any]:
    """Requests that the agent, or the agent at the connection `at`, open its session `agent_id` again, by
    `session/resume` if the agent can do that, otherwise by `session/load`. Returns the agent's result.

    Raises `AgentError` if the agent refuses or can do neither.
    """
    connection = at or session.connection
    params = {"sessionId": agent_id, "cwd": session.cwd, "mcpServers": _servers(session)}
    how = next((name for name in ("resume", "load") if connection.agent_can(name)), None)
    if how is None:
        raise AgentError(f"{connection.agent_name} cannot open a former session again")
    return await connection.request(f"session/{how}", params)


async def open_aside(session: ProxiedSession, agent_id: str, connection: Connection) -> dict[str, Any]:
    """Requests that the connection's agent open its former session `agent_id` as an aside, so that the conversation can
    move to it. Returns the agent's result, or an empty one if that session is an open aside already.

    Raises `AgentError`.
    """
    known = connection.asides.get(agent_id)
    if known is not None and known.closing is None:
        return {}
    if known is not None and known.closing is not None:
        await asyncio.wait([known.closing])
    # Before the request: a load replays the session, and the client has seen its messages already.
    connection.set_aside(agent_id)
    try:
        return await reopen(session, agent_id, connection)
    except BaseException:
        connection.asides.pop(agent_id, None)
        raise


async def copy_session(session: ProxiedSession) -> str:
    """Requests from the agent a copy (`session/fork`) of the session as it is now.

    Returns the agent's id of the copy, or "" if the agent can't copy sessions or refuses. The copy is an aside.
    """
    connection = session.connection
    if not connection.agent_can("fork"):
        return ""
    params = {"sessionId": session.agent_id, "cwd": session.cwd, "mcpServers": _servers(session)}
    try:
        copy, _ = await _make(session, connection, "session/fork", params, _note_copy)
    except AgentError as error:
        _log.info("No copy of session %s: %s", session.id, error)
        return ""
    return copy


async def _note_copy(session: ProxiedSession, copy: str) -> None:
    """Records the agent's id of a copy that the agent can't delete, so that the client never sees it in its list."""
    copied, attached = session.attachment(copy), session.attachment(session.agent_id)

    async def job(record: SessionRecord) -> None:
        record.conversation.record(copied, attached)

    if not session.connection.agent_can("delete"):
        await session.put(job)


async def _make(
    session: ProxiedSession, connection: Connection, method: str, params: dict[str, Any], note: Noted | None = None
) -> tuple[str, dict[str, Any]]:
    """Requests a session from the agent, which is an aside from then on. Returns the agent's id of it and its result.

    `note` is called with the agent's id once the agent has made it. If this coroutine is cancelled, that still happens,
    and then the session is discarded. Raises `AgentError`.
    """

    async def ask() -> tuple[str, dict[str, Any]]:
        with connection.making():
            result = await connection.request(method, params)
            made = as_text(result.get("sessionId"))
            connection.set_aside(made)
        if note is not None:
            await note(session, made)
        return made, result

    asking = asyncio.ensure_future(ask())
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        asking.add_done_callback(partial(_discard_late, session, connection))
        raise


def _discard_late(
    session: ProxiedSession, connection: Connection, asking: "asyncio.Future[tuple[str, dict[str, Any]]]"
) -> None:
    if not asking.cancelled() and asking.exception() is None:
        discard(session, asking.result()[0], connection)


def close_aside(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> None:
    """Has the agent, or the agent at the connection `at`, close its session `agent_id`, which the conversation has left
    or which is a copy. Some agents run a process for each open session. Does nothing if there is no such aside, or if
    the agent can't close it and open it again later. An error is only logged.

    The session is still an aside afterwards, because the agent may still send updates of it.
    """
    connection = at or session.connection
    aside = connection.asides.get(agent_id)
    opens_again = connection.agent_can("resume") or connection.agent_can("load")
    if aside is not None and opens_again and connection.agent_can("close"):
        aside.closing = connection.spawn(_try(connection, "session/close", {"sessionId": agent_id}))


def discard(session: ProxiedSession, agent_id: str, at: Connection | None = None) -> None:
    """Has the agent, or the agent at the connection `at`, close its session `agent_id`, which nothing needs any more,
    and delete it, as far as the agent can. An error is only logged. The session is still an aside afterwards."""
    connection = at or session.connection
    connection.spawn(_discard(connection, agent_id))


async def _discard(connection: Connection, agent_id: str) -> None:
    # Few agents end a session's process when they delete it.
    for ability in ("close", "delete"):
        if connection.agent_can(ability):
            await _try(connection, f"session/{ability}", {"sessionId": agent_id})


async def prompt_agent(session: ProxiedSession, agent_id: str, text: str) -> None:
    """Sends a prompt of the proxy's own to the agent's session `agent_id`, and waits for the end of the turn.

    If this coroutine is cancelled, it sends the agent `session/cancel` and still waits for the turn's end, because
    nothing else may run in that session before. Raises `AgentError`.
    """
    agent = session.connection.agent
    params = {"sessionId": agent_id, "prompt": [{"type": "text", "text": text}]}
    turn = asyncio.ensure_future(session.connection.run_turn(agent_id, params))
    # Reads the exception of a cancelled turn, which asyncio would log otherwise.
    turn.add_done_callback(lambda _: turn.cancelled() or turn.exception())
    try:
        await asyncio.shield(turn)
    except asyncio.CancelledError:
        while not turn.done():
            agent.notify("session/cancel", {"sessionId": agent_id})
            try:
                await asyncio.wait([turn])
            except asyncio.CancelledError:
                # Cancelled once more, so the agent is sent the cancellation once more.
                continue
        raise


async def _set_up(session: ProxiedSession, fresh: str, opened: dict[str, Any]) -> None:
    """Sets, in the agent's session `fresh`, the mode and the config options that the conversation's session has.

    `opened` is the agent's result of `session/new`. If the agent refuses a value, its default is kept.
    """
    facts = session.facts
    mode = as_object(opened.get("modes")).get("currentModeId")
    if facts.mode and facts.mode != mode:
        await _try(session.connection, "session/set_mode", {"sessionId": fresh, "modeId": facts.mode})
    given = {
        as_text(option.get("id")): option.get("currentValue") for option in as_objects(opened.get("configOptions"))
    }
    for name, value in facts.config.items():
        if given.get(name) != value:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            chosen = {"sessionId": fresh, "configId": name, "value": value, **kind}
            await _try(session.connection, "session/set_config_option", chosen)


def _servers(session: ProxiedSession) -> list[Any]:
    server = session.connection.server
    if server is None:
        return session.mcp_servers
    return [named_server(server, session.id) if _was_added(one, server) else one for one in session.mcp_servers]


async def _try(connection: Connection, method: str, params: dict[str, Any]) -> None:
    """Sends the agent a request whose failure does no harm. An error is only logged."""
    try:
        await connection.request(method, params)
    except AgentError as error:
        _log.info("%s", error)


def offered(piece: Piece, frame: Frame, server: JsonObject) -> tuple[Piece, Frame]:
    """Returns a client's request with the server added to its `mcpServers`, whose other entries keep their bytes.

    Returns the request as it is if it opens no session, if the client offers Ullage's server itself, or if the request
    is not as the protocol has it.
    """
    if frame.method not in _OPENING:
        return piece, frame
    params = fields(frame.params)
    known = params.get("mcpServers", [])
    if not params or not isinstance(known, list) or any(map(_is_ours, as_list(known))):
        return piece, frame
    named = named_server(server, as_text(params.get("sessionId"))) if frame.method in _NAMING else server
    servers = [*_raw_list.decode(_raw_fields.decode(frame.params).get("mcpServers", b"[]")), Raw(encode_json(named))]
    changed = Piece(with_params(piece.data, {"mcpServers": servers}))
    return changed, peek(changed.data) or frame


def named_server(server: JsonObject, session_id: str) -> JsonObject:
    """Returns the server as it is started for a session, "" if the id is not known."""
    return {**server, "args": [*as_list(server.get("args")), "--session", session_id]} if session_id else server


def _is_ours(entry: object) -> bool:
    """Returns whether a client's entry is Ullage's server, by its name or by its command."""
    server = as_object(entry)
    words = [as_text(server.get("command")), *map(as_text, as_list(server.get("args")))]
    runs = any(PurePath(word.replace("\\", "/")).stem == NAME for word in words) and "mcp" in words
    return server.get("name") == NAME or runs


def _was_added(entry: object, server: JsonObject) -> bool:
    added, words = as_list(server.get("args")), as_list(as_object(entry).get("args"))
    return as_object(entry).get("name") == NAME and words[: len(added)] == added


_log = logging.getLogger(__name__)
# Characters of the messages since a compaction that are repeated when it is undone: a few turns.
_SINCE = 40_000
# The largest share of the window that the whole conversation may take. The rest is for the agent's own prompt and for
# what is said from then on.
_WHOLE_SHARE = 0.5


class Moved(Struct, frozen=True, kw_only=True):
    """A conversation that now continues in a fresh session of the agent: the recorded edit, and the agent's result of
    `session/new`."""

    edit: CompactionEdit
    opened: dict[str, Any]


async def hand_over(session: ProxiedSession, focus: str, trigger: EditTrigger) -> str:
    """Compacts a held session by a handover. Returns a sentence for the user about the result.

    `focus` is what the user wants the summary to keep above all, or "". Raises `AgentError`, `NothingToCompact` or
    `StoreUnavailable`; the context is then unchanged.
    """
    record = await session.record()
    if not has_messages(record):
        raise NothingToCompact(words.nothing_to_compact(0, record.used))
    if not session.connection.shown.shows_compactions:
        send_text(session, f"{words.auto_compacting(record.used)}\n\n")
    compaction_id = record.workspace.ports.ids.new("c")
    send_compaction(session, _update(compaction_id, CompactionStatus.IN_PROGRESS))
    try:
        summary = await summary_of(session, record, focus)
        edit = (await move(session, record, summary, trigger)).edit
    except UllageError as error:
        send_compaction(session, replace(_update(compaction_id, CompactionStatus.FAILED), error=str(error)))
        raise
    except asyncio.CancelledError:
        send_compaction(session, _update(compaction_id, CompactionStatus.CANCELLED))
        raise
    block = compaction_block(edit)
    completed = _update(compaction_id, CompactionStatus.COMPLETED, edit)
    send_compaction(session, replace(completed, summary=(TextContent(text=block.summary),)))
    send_usage(session, record)
    return words.compacted(block.messages_archived, block.context_size_before, block.context_size_after)


async def move(session: ProxiedSession, record: SessionRecord, summary: Summary, trigger: EditTrigger) -> Moved:
    """Moves the conversation to a fresh session of the agent, and records the compaction. The summary will be sent
    before the next prompt.

    Raises `AgentError`.
    """
    left = session.agent_id
    fresh, opened = await open_fresh(session)
    attached = session.attachment(fresh)
    edit = archive(record, Archiving(summary=summary, trigger=trigger, after=(attached,)))
    session.moved(fresh, seed_of(compaction_block(edit)))
    close_aside(session, left)
    return Moved(edit=edit, opened=opened)


def tell_begun_again(session: ProxiedSession, record: SessionRecord, edit: CompactionEdit) -> None:
    """Sends the client the compaction with which a conversation continues that the agent could not open again."""
    block = compaction_block(edit)
    completed = _update(edit.id, CompactionStatus.COMPLETED, edit)
    send_compaction(session, replace(completed, summary=(TextContent(text=block.summary),)))
    name = session.connection.agent_name
    send_text(session, words.begun_again(name, block.context_size_before, block.context_size_after) + "\n\n")
    send_usage(session, record)


async def undo(session: ProxiedSession) -> str:
    """Undoes the last compaction of a held session, or its last move to another agent: the conversation returns to the
    agent's session from before it. Returns a sentence for the user about the result.

    Raises `NothingToUndo`, `AgentError` or `StoreUnavailable`.
    """
    record = await session.record()
    found = undoable(record)
    # What the client shows, if the agent has said it.
    reported = session.facts.reported
    before = record.used if reported is None else reported
    left, connection = session.agent_id, session.connection
    back = await of_agent(connection, found.before.agent) if len(connection.agents) > 1 else connection
    if back is not connection:
        await revive(back)
    opened = await open_aside(session, found.before.session_id, back)
    now = take_back(record, found)
    session.moved(found.before.session_id, since_of(found.since), back)
    close_aside(session, left, connection)
    if back is not connection:
        session.facts.take_opened(opened)
        send_options(session)
        list_commands(session)
    send_usage(session, record)
    return words.undone(before, now)


async def summary_of(session: ProxiedSession, record: SessionRecord, focus: str) -> Summary:
    """Returns the agent's summary with the user's messages and Ullage's ledger. If the agent refuses, or if its text
    can't be a summary of the conversation, returns an offline summary.

    Raises `AgentError` if the agent has ended.
    """
    try:
        return accept_summary(record, (await _ask(session, focus)).strip(), session.connection.agent_name)
    except (AgentError, AnswerBroken) as error:
        if session.state is State.LOST:
            raise
        _log.warning("The agent gave no summary: %s", error)
    return await offline_summary(record, focus)


async def _ask(session: ProxiedSession, focus: str) -> str:
    """Requests a summary from the agent and returns its text. The request is made in a copy of the session if the agent
    can copy sessions.

    With a copy, the session itself doesn't contain the proxy's request when an undo returns to it.
    """
    copy = await copy_session(session)
    if not copy:
        with session.summarizing() as answer:
            await prompt_agent(session, session.agent_id, _summary_prompt(focus))
        return answer.text
    answer = session.connection.set_aside(copy)
    try:
        await prompt_agent(session, copy, _summary_prompt(focus))
    finally:
        discard(session, copy)
    return answer.text


def _update(compaction_id: str, status: CompactionStatus, edit: CompactionEdit | None = None) -> CompactionUpdate:
    block = compaction_block(edit) if edit else None
    meta = CompactionMeta(
        trigger=edit.trigger if edit else "",
        compaction_number=block.compaction_number if block else 0,
        edit_id=edit.id if edit else None,
        messages_archived=block.messages_archived if block else 0,
        context_size_before=block.context_size_before if block else 0,
        context_size_after=block.context_size_after if block else 0,
    )
    return CompactionUpdate(compaction_id=compaction_id, status=status, meta=Meta(ullage=meta))


# Text that the agent is sent. Keep the wording: agents were measured with it (PROXY.md, Agents).


def _summary_prompt(focus: str) -> str:
    wish = f"\nThe person wants this kept above all: {focus}" if focus else ""
    return (
        "This conversation will be continued by another assistant that has seen none of it. Write the summary it needs "
        "to go on without asking: the goal in the user's own words, what was decided and why, constraints and "
        "preferences, what is done with the paths of all files concerned, errors met and how they were solved, the "
        "state of the work now, and the next step. Quote paths, names, commands and figures exactly. Use no tools. "
        f"Answer with the summary alone.{wish}"
    )


def seed_of(block: CompactionBlock) -> str:
    """Returns the text that is sent before the first prompt in a fresh session: the summary and ledger of the
    compaction, with an introduction for the agent."""
    return (
        "What follows is a record of this conversation so far, kept when its context was compacted. Go on from it; "
        f"the user's next message comes after it.\n\n{render_marker(block)}"
    )


def since_of(messages: Sequence[Message]) -> str:
    """Returns the text that is sent before the next prompt when an undo returns to a former session of the agent.

    The text contains the end, at most 40,000 characters, of the `messages`, which were written in another session
    meanwhile. Returns "" if there are none.
    """
    said = "\n\n".join(text for message in messages if (text := _as_text(message)))
    if not said:
        return ""
    cut = "[…]\n" if len(said) > _SINCE else ""
    return (
        "Since your last message the conversation went on in another session, as follows. The person's next message "
        f"comes after it.\n\n{cut}{said[-_SINCE:]}"
    )


def _as_text(message: Message) -> str:
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    calls = [f"({block.name}: {block.input})" for block in message.content if isinstance(block, ToolUseBlock)]
    text = "\n".join((*texts, *calls)).strip()
    return f"{message.role.value}: {text}" if text else ""


class Move(Struct, frozen=True, kw_only=True):
    """A move of a conversation to another agent. `refused` is true if the former agent has refused the last prompt,
    which is sent to the other one next: that prompt is not part of the conversation so far, and the former agent
    is not asked for a summary."""

    to: Connection
    refused: bool = False


class Continued(Struct, frozen=True, kw_only=True):
    """How a conversation has moved: with a summary, which is in the edit, or as a whole, and the tokens of either."""

    edit: CompactionEdit | None
    tokens: int


async def find_agent(connection: Connection, name: str) -> Connection:
    """Returns the connection of another agent by a part of its name that the user has typed, in any case. Without a
    name, returns that of the next agent in the order of the command line, which begins again after the last.

    Agents that have not run yet are started if their command lines don't have the name. Raises `InvalidRequest` if no
    other agent has the name.
    """
    place = connection.agents.index(connection)
    others = [*connection.agents[place + 1 :], *connection.agents[:place]]
    for one in others:
        if _is_called(one, name):
            return one
    for one in others:
        with suppress(UllageError):
            await revive(one)
        if _is_called(one, name):
            return one
    raise InvalidRequest(f"no other agent is named {name!r}; there is {', '.join(one.short_name for one in others)}")


def _is_called(connection: Connection, name: str) -> bool:
    return any(name.strip().casefold() in known.casefold() for known in connection.names)


async def continue_in(session: ProxiedSession, move: Move) -> Continued:
    """Moves a held conversation to another agent, and records that.

    Raises `AgentError` or `InvalidRequest` if that agent can't be started or refuses, and `StoreUnavailable`; the
    conversation is then where it was.
    """
    record, left, former = await session.record(), session.agent_id, session.connection
    await revive(move.to)
    fresh, opened = await open_fresh(session, move.to)
    told = _without_prompt(record) if move.refused else record.conversation.transcript.view
    try:
        session.facts_at(move.to).take_opened(opened)
        moved = _moved(session, record, session.attachment(fresh, move.to), move.to)
        whole = _transcript_text(record, told, former.agent_name)
        tokens = record.conversation.projection.counter.count(whole)
        facts = session.facts_at(move.to)
        known = record.workspace.limits(facts.model).input if facts.model else None
        if tokens <= int((facts.window or move.to.options.window or known or SMALL_WINDOW) * _WHOLE_SHARE):
            edit = None
            record.conversation.record(*moved)
        else:
            edit = await _compacted(session, record, move, moved)
            whole = seed_of(compaction_block(edit))
            tokens = record.conversation.projection.counter.count(whole)
    except BaseException:
        discard(session, fresh, move.to)
        raise
    session.moved(fresh, whole if told or edit else "", move.to)
    close_aside(session, left, former)
    send_options(session)
    list_commands(session)
    send_usage(session, record)
    return Continued(edit=edit, tokens=tokens)


def describe(session: ProxiedSession, continued: Continued) -> str:
    """Returns a sentence for the user about a conversation that has moved."""
    return words.continued_in(session.connection.agent_name, continued.tokens, whole=continued.edit is None)


def _moved(
    session: ProxiedSession, record: SessionRecord, attached: AgentAttached, to: Connection
) -> tuple[AgentAttached | ModelChanged, ...]:
    model = session.facts_at(to).model
    same = model in ("", record.conversation.transcript.model)
    return (attached,) if same else (attached, ModelChanged(model=model))


async def _compacted(
    session: ProxiedSession, record: SessionRecord, move: Move, moved: Sequence[AgentAttached | ModelChanged]
) -> CompactionEdit:
    """Records the compaction with which the conversation moves, and the move. The summary is the former agent's, unless
    that agent has refused a prompt or ended; then it is one without a model."""
    asks = not move.refused and session.state is State.HOLDING and session.connection.agent.alive
    summary = await (summary_of(session, record, "") if asks else offline_summary(record, ""))
    trigger = EditTrigger.AUTOMATIC if move.refused else EditTrigger.MANUAL
    return archive(record, Archiving(summary=summary, trigger=trigger, after=tuple(moved)))


def _without_prompt(record: SessionRecord) -> Sequence[Message]:
    """Returns the messages in the context without the last prompt and its answer, which often says why the agent
    refuses. If the agent has begun to work, returns them all."""
    view = record.conversation.transcript.view
    prompted = [place for place, message in enumerate(view) if message.role is Role.USER]
    last = view[prompted[-1] :] if prompted else ()
    works = any(isinstance(block, ToolUseBlock | ToolResultBlock) for message in last for block in message.content)
    return view if works or not prompted else view[: prompted[-1]]


def _transcript_text(record: SessionRecord, messages: Sequence[Message], agent: str) -> str:
    said = "\n\n".join(f"{message.role.value}: {text}" for message in messages if (text := _text(message)))
    safe = hide_text(redact(said), record.conversation.settings.private_patterns)
    # Text that the agent is sent.
    return (
        f"What follows is this conversation so far, which {agent} has had with the user. Continue it; the user's "
        f"next message comes after it.\n\n{safe}"
    )


def _text(message: Message) -> str:
    return "\n".join(part for part in _parts(message) if part).strip()


def _parts(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case TextBlock(text=text):
                yield text
            case ToolUseBlock(name=name, input=given):
                yield f"({name}: {encode_json(given).decode()})"
            case ToolResultBlock(content=parts):
                yield "\n".join(part.text or "" for part in parts if isinstance(part, TextBlock | ResourceBlock))
            case ResourceBlock(text=text):
                yield f"[{block.title}]\n{text or ''}".strip()
            case CompactionBlock():
                yield render_marker(block)
            case _:
                pass
