"""Continues a conversation in a fresh session, of the same agent or of another, under the id that the client knows.

A compaction by a handover begins the session with a summary: the agent writes it, and Ullage's ledger is added. Another
agent is sent the whole conversation if that fits, otherwise a summary. The session that is left stays as it was, so an
undo returns to it.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model import words
from ullage.model.errors import AgentError, AnswerBroken, InvalidRequest, NothingToCompact, UllageError
from ullage.model.events import AgentAttached, CompactionEdit, EditTrigger, ModelChanged, compaction_block
from ullage.model.json_values import encode_json
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
from ullage.proxy.agent_sessions import close_aside, copy_session, discard, open_aside, open_fresh, prompt_agent
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
from ullage.proxy.record import SessionRecord
from ullage.proxy.session import ProxiedSession
from ullage.proxy.session_life import State
from ullage.proxy.to_client import list_commands, send_compaction, send_options, send_text, send_usage
from ullage.redaction.clean import hide_text, redact

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
        if tokens <= _room(session, record, move.to):
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


def _room(session: ProxiedSession, record: SessionRecord, to: Connection) -> int:
    facts = session.facts_at(to)
    known = record.workspace.limits(facts.model).input if facts.model else None
    return int((facts.window or to.options.window or known or SMALL_WINDOW) * _WHOLE_SHARE)


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
