"""Compaction by the agent's own command: passed on, watched, and recorded when it has done something."""

from typing import Any

from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model.artifacts import ArtifactLedger
from ullage.model.edits import EditTrigger
from ullage.model.json_values import as_object, as_objects, as_text
from ullage.proxy.connection import Connection
from ullage.proxy.handover import fork, recorded
from ullage.proxy.record import compactions as archive
from ullage.proxy.session import NativeCompaction, ProxiedSession
from ullage.service.conversation.workspace import Workspace

_UNTOLD = "The agent compacted its context and kept the summary to itself."


async def begin(connection: Connection, session: ProxiedSession, trigger: EditTrigger) -> None:
    """Gets ready for a compaction of the agent's: with a copy of the session, where it makes copies, to undo it by."""
    workspace = await recorded(connection)
    used = session.occupancy.used if session.occupancy else workspace.open(session.id).used
    copy = await fork(connection, session)
    session.native = NativeCompaction(used_before=used, trigger=trigger, asked=True, fork=copy)


def watch(session: ProxiedSession, update: dict[str, Any]) -> None:
    """Takes in what an update tells of a compaction, whoever asked for it."""
    kind = update.get("sessionUpdate")
    if kind == "compaction_update":
        native = _watched(session)
        if "summary" in update:
            native.summary = "".join(as_text(part.get("text")) for part in as_objects(update.get("summary")))
        native.completed = native.completed or update.get("status") == "completed"
    elif kind == "compaction_summary_chunk":
        _watched(session).summary += as_text(as_object(update.get("content")).get("text"))
    elif as_object(as_object(update.get("_meta")).get("contextCompression")).get("phase") == "done":
        # Qwen Code's word for it.
        _watched(session).completed = True


def take_unasked(session: ProxiedSession) -> NativeCompaction | None:
    """The compaction that the agent has just made by itself in the middle of a turn, once."""
    native = session.native
    if native is None or not native.completed or native.asked:
        return None
    session.native = None
    return native


def finish(connection: Connection, session: ProxiedSession, workspace: Workspace) -> None:
    """At the end of a turn: records the compaction that happened in it, if one did."""
    native, session.native = session.native, None
    if native is not None:
        record(connection, session, workspace, native)


def record(connection: Connection, session: ProxiedSession, workspace: Workspace, native: NativeCompaction) -> None:
    """Records a compaction, which stands for everything so far, unless it did nothing."""
    used = session.occupancy.used if session.occupancy else None
    if not native.completed and (used is None or used >= native.used_before):
        return
    open_session = workspace.open(session.id)
    if not open_session.transcript.active:
        # Some agents say twice that they are done.
        return
    summary = Summary(text=native.summary.strip() or _UNTOLD, ledger=ArtifactLedger(), summarizer=connection.agent_name)
    archiving = archive.Archiving(
        summary=summary, trigger=native.trigger, size_before=native.used_before, size_after=used
    )
    if native.fork:
        copied, attached = (connection.attachment(session, agent_id) for agent_id in (native.fork, session.agent_id))
        archiving = replace(archiving, before=(copied,), behind=(attached,))
    archive.archive(open_session, archiving)


def _watched(session: ProxiedSession) -> NativeCompaction:
    if session.native is None:
        used = session.occupancy.used if session.occupancy else 0
        session.native = NativeCompaction(used_before=used)
    return session.native
