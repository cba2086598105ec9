"""Compaction by hand-over: the agent writes a summary, a fresh session of it begins with that and our ledger, and the
client goes on under the id it knows. The agent's former session stays as it was, so the hand-over can be undone."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model import words
from ullage.model.artifacts import ArtifactLedger
from ullage.model.edits import CompactionEdit, EditTrigger, compaction_block
from ullage.model.errors import AgentError, NothingToCompact, SessionBusy, StoreUnavailable, UllageError
from ullage.model.json_values import as_object, as_objects, as_text
from ullage.model.updates import CompactionMeta, CompactionStatus, CompactionUpdate, Meta, TextContent
from ullage.proxy.connection import Connection, Muted
from ullage.proxy.prompts import seed_of, since_of, summary_prompt
from ullage.proxy.record import compactions as archive
from ullage.proxy.session import ProxiedSession
from ullage.proxy.telling import say, tell_compaction, tell_usage
from ullage.service.conversation.workspace import Workspace

_log = logging.getLogger(__name__)


class Moved(Struct, frozen=True, kw_only=True):
    """A conversation that goes on in a fresh session: the edit, and what the agent said of the session."""

    edit: CompactionEdit
    opened: dict[str, Any]


async def recorded(connection: Connection) -> Workspace:
    """The record, complete. Raises `StoreUnavailable` where there is none."""
    workspace = await connection.recorder.settled()
    if workspace is None:
        raise StoreUnavailable("this conversation is not recorded, so it can be neither handed over nor taken back")
    return workspace


async def hand_over(connection: Connection, session: ProxiedSession, focus: str, trigger: EditTrigger) -> str:
    """Compacts by a hand-over; what it did, in words. Raises `AgentError`, `NothingToCompact`, `SessionBusy`,
    `StoreUnavailable`, with the context as it was."""
    workspace = await recorded(connection)
    open_session = workspace.open(session.id)
    _require_rest(session)
    if not open_session.transcript.active:
        raise NothingToCompact(words.nothing_to_compact(0, open_session.used))
    if not connection.shown.shows_compactions:
        say(connection, session, f"{words.auto_compacting(open_session.used)}\n\n")
    compaction_id = workspace.ports.ids.new("c")
    tell_compaction(connection, session, _told(compaction_id, CompactionStatus.IN_PROGRESS))
    try:
        summary = await _summary(connection, session, workspace, focus)
        edit = (await move(connection, session, workspace, summary, trigger)).edit
    except UllageError as error:
        tell_compaction(connection, session, replace(_told(compaction_id, CompactionStatus.FAILED), error=str(error)))
        raise
    except asyncio.CancelledError:
        tell_compaction(connection, session, _told(compaction_id, CompactionStatus.CANCELLED))
        raise
    block = compaction_block(edit)
    completed = _told(compaction_id, CompactionStatus.COMPLETED, edit)
    tell_compaction(connection, session, replace(completed, summary=(TextContent(text=block.summary),)))
    tell_usage(connection, session, workspace)
    return words.compacted(block.messages_archived, block.context_size_before, block.context_size_after)


async def move(
    connection: Connection, session: ProxiedSession, workspace: Workspace, summary: Summary, trigger: EditTrigger
) -> Moved:
    """Goes on in a fresh session of the agent, which will begin with the summary."""
    fresh, opened = await open_fresh(connection, session)
    attached = connection.attachment(session, fresh)
    archiving = archive.Archiving(summary=summary, trigger=trigger, behind=(attached,))
    edit = archive.archive(workspace.open(session.id), archiving)
    _go_on(connection, session, fresh, seed_of(compaction_block(edit)))
    return Moved(edit=edit, opened=opened)


async def undo(connection: Connection, session: ProxiedSession) -> str:
    """Takes the last compaction back; what that did, in words. Raises `NothingToUndo`, `AgentError`, `SessionBusy`."""
    workspace = await recorded(connection)
    _require_rest(session)
    conversation = workspace.open(session.id)
    found = archive.undoable(conversation)
    before = conversation.used
    await reopen(connection, session, found.before.session_id)
    archive.take_back(conversation, found)
    _go_on(connection, session, found.before.session_id, since_of(found.since))
    tell_usage(connection, session, workspace)
    return words.undone(before, conversation.used)


def _require_rest(session: ProxiedSession) -> None:
    if session.busy:
        raise SessionBusy("the agent is at work in this session; wait for its turn to end, or cancel it")


def _go_on(connection: Connection, session: ProxiedSession, agent_id: str, seed: str) -> None:
    """From here on the client's session is another one of the agent's. What is still said of the former is no news."""
    connection.muted[session.agent_id] = Muted()
    connection.muted.pop(agent_id, None)
    session.agent_id, session.seed, session.occupancy = agent_id, seed, None


async def open_fresh(connection: Connection, session: ProxiedSession) -> tuple[str, dict[str, Any]]:
    """A new session of the agent's with the old one's mode and options; its id, and what the agent answered."""
    params = {"cwd": session.cwd, "mcpServers": session.mcp_servers}
    with _opening(connection):
        opened = await connection.agent.request("session/new", params)
    fresh = as_text(opened.get("sessionId"))
    connection.live.add(fresh)
    connection.muted[fresh] = Muted()
    await _set_up(connection, session, fresh, opened)
    connection.muted.pop(fresh, None)
    return fresh, opened


async def reopen(connection: Connection, session: ProxiedSession, agent_id: str) -> dict[str, Any]:
    """Has the agent open a session of its own again, unless it is; what it answers. Raises `AgentError`."""
    if agent_id in connection.live:
        return {}
    params = {"sessionId": agent_id, "cwd": session.cwd, "mcpServers": session.mcp_servers}
    how = next((name for name in ("resume", "load") if connection.agent_can(name)), None)
    if how is None:
        raise AgentError(f"{connection.agent_name} cannot open a former session again")
    # A load tells everything once more, which the client has been told.
    connection.muted[agent_id] = Muted()
    try:
        opened = await connection.agent.request(f"session/{how}", params)
    finally:
        connection.muted.pop(agent_id, None)
    connection.live.add(agent_id)
    return opened


async def fork(connection: Connection, session: ProxiedSession) -> str:
    """A copy of the session as it is, where the agent makes one; its id, or nothing."""
    if not connection.agent_can("fork"):
        return ""
    params = {"sessionId": session.agent_id, "cwd": session.cwd, "mcpServers": session.mcp_servers}
    try:
        with _opening(connection):
            copy = as_text((await connection.agent.request("session/fork", params)).get("sessionId"))
    except AgentError as error:
        _log.info("No copy of session %s: %s", session.id, error)
        return ""
    connection.live.add(copy)
    connection.muted[copy] = Muted()
    return copy


async def _summary(connection: Connection, session: ProxiedSession, workspace: Workspace, focus: str) -> Summary:
    """The agent's own summary with our ledger; one by code alone where the agent gives none."""
    open_session = workspace.open(session.id)
    try:
        text = await _ask(connection, session, focus)
    except AgentError as error:
        _log.warning("The agent gave no summary: %s", error)
        text = ""
    if not text.strip():
        return await archive.offline_summary(open_session, focus)
    summary = Summary(text=text.strip(), ledger=ArtifactLedger(), summarizer=connection.agent_name)
    return replace(summary, ledger=archive.ledger_of(open_session))


async def _ask(connection: Connection, session: ProxiedSession, focus: str) -> str:
    """Asks for a summary, in a copy of the session where there can be one, so that the session itself stays clean."""
    asked = await fork(connection, session) or session.agent_id
    muted = connection.muted[asked] = Muted()
    turn = asyncio.ensure_future(prompt_agent(connection, asked, summary_prompt(focus)))
    if asked == session.agent_id:
        turn.add_done_callback(lambda _: connection.muted.pop(asked, None))
    await turn
    if asked != session.agent_id and connection.agent_can("close"):
        await _try(connection, "session/close", {"sessionId": asked})
    return muted.text


async def prompt_agent(connection: Connection, agent_id: str, text: str) -> None:
    """A turn of the proxy's own. Cancelled, it is taken back and lasts until the agent has answered."""
    params = {"sessionId": agent_id, "prompt": [{"type": "text", "text": text}]}
    turn = asyncio.ensure_future(connection.agent.request("session/prompt", params))
    try:
        await asyncio.shield(turn)
    except asyncio.CancelledError:
        connection.agent.tell("session/cancel", {"sessionId": agent_id})
        await asyncio.wait([turn])
        raise


@contextmanager
def _opening(connection: Connection) -> Generator[None]:
    """While a session is opened that the client does not know, what is said of unknown ones is not for it."""
    connection.opening += 1
    try:
        yield
    finally:
        connection.opening -= 1


async def _set_up(connection: Connection, session: ProxiedSession, fresh: str, opened: dict[str, Any]) -> None:
    """Gives a fresh session the mode and the options that the person has chosen. What the agent refuses stays."""
    mode = as_object(opened.get("modes")).get("currentModeId")
    if session.mode and session.mode != mode:
        await _try(connection, "session/set_mode", {"sessionId": fresh, "modeId": session.mode})
    given = {
        as_text(option.get("id")): option.get("currentValue") for option in as_objects(opened.get("configOptions"))
    }
    for name, value in session.config.items():
        if given.get(name) != value:
            kind = {"type": "boolean"} if isinstance(value, bool) else {}
            chosen = {"sessionId": fresh, "configId": name, "value": value, **kind}
            await _try(connection, "session/set_config_option", chosen)


async def _try(connection: Connection, method: str, params: dict[str, Any]) -> None:
    """Asks for something that the conversation can do without."""
    try:
        await connection.agent.request(method, params)
    except AgentError as error:
        _log.info("%s", error)


def _told(compaction_id: str, status: CompactionStatus, edit: CompactionEdit | None = None) -> CompactionUpdate:
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
