"""Continues a conversation in another agent: in a fresh session of that agent, under the id that the client knows.

The other agent is sent the whole conversation if that fits, otherwise a summary. The former agent's session is left as
it was, so an undo returns to it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from ullage.model import words
from ullage.model.blocks import CompactionBlock, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.edits import CompactionEdit, EditTrigger, compaction_block
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.events import AgentAttached, ModelChanged
from ullage.model.json_values import encode_json
from ullage.model.marker import render_marker
from ullage.model.message import Message, Role
from ullage.proxy.agent_sessions import close_aside, discard, open_fresh
from ullage.proxy.connection import Connection
from ullage.proxy.handover import seed_of, summary_of
from ullage.proxy.record.compactions import Archiving, archive, offline_summary
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.reviving import revive
from ullage.proxy.session import ProxiedSession
from ullage.proxy.slash_commands import list_commands
from ullage.proxy.state import State
from ullage.proxy.to_client import send_options, send_usage
from ullage.redaction.clean import redact
from ullage.redaction.privacy import hide_text

# Tokens. If the other agent's window is not known, it is taken for the smallest in which agents run.
_SMALL_WINDOW = 32_000
# The largest share of the window that the whole conversation may take. The rest is for the agent's own prompt and for
# what is said from then on.
_WHOLE_SHARE = 0.5


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


async def named(connection: Connection, name: str) -> Connection:
    """Returns the connection of another agent by a part of its name that the user has typed, in any case. Without a
    name, returns that of the next agent in the order of the command line, which begins again after the last.

    Agents that have not run yet are started if their command lines don't have the name. Raises `InvalidRequest` if no
    other agent has the name.
    """
    place = connection.agents.index(connection)
    others = [*connection.agents[place + 1 :], *connection.agents[:place]]
    for one in others:
        if _has_name(one, name):
            return one
    for one in others:
        with suppress(UllageError):
            await revive(one)
        if _has_name(one, name):
            return one
    raise InvalidRequest(f"no other agent is named {name!r}; there is {', '.join(one.short_name for one in others)}")


def _has_name(connection: Connection, name: str) -> bool:
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
        whole = _whole(record, told, former.agent_name)
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
    """Returns the events by which the conversation moves: to the agent, and to its model if that is another."""
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
    return int((facts.window or to.options.window or known or _SMALL_WINDOW) * _WHOLE_SHARE)


def _without_prompt(record: SessionRecord) -> Sequence[Message]:
    """Returns the messages in the context without the last prompt and its answer, which often says why the agent
    refuses. If the agent has begun to work, returns them all."""
    view = record.conversation.transcript.view
    prompted = [place for place, message in enumerate(view) if message.role is Role.USER]
    last = view[prompted[-1] :] if prompted else ()
    works = any(isinstance(block, ToolUseBlock | ToolResultBlock) for message in last for block in message.content)
    return view if works or not prompted else view[: prompted[-1]]


def _whole(record: SessionRecord, messages: Sequence[Message], agent: str) -> str:
    """Returns the messages as text for another agent, without secrets."""
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
