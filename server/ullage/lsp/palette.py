"""The commands for a client's command palette, for clients without our plugin.

A command about a session takes the session's id as its first argument; the default is the session that changed last.
"""

from collections.abc import Sequence
from typing import Any

from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.session_methods import SessionParams
from ullage.lsp.commands import Command, CommandOutcome
from ullage.lsp.progress import Progress
from ullage.model import words
from ullage.model.errors import InvalidRequest, SessionNotFound
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.sub_agents import list_main


async def _compact(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    session_id, focus = _session_id(workspace, arguments), _text(arguments, 1)
    progress.report("Writing the summary")
    done = await context.compact(workspace, context.CompactParams(session_id=session_id, focus=focus))
    # No message: the compaction publishes a notice of its own.
    return CommandOutcome(value=done)


async def _preview(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    params = context.CompactParams(
        session_id=_session_id(workspace, arguments), focus=_text(arguments, 1), dry_run=True
    )
    seen = await context.compact(workspace, params)
    sizes = words.shrinking(seen.context_size_before, seen.context_size_after)
    return CommandOutcome(value=seen, message=f"{sizes}\n\n{seen.summary}")


async def _undo(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _session_id(workspace, arguments)
    before = workspace.open(session_id).used
    done = await context.undo(workspace, context.UndoParams(session_id=session_id, edit_id=_text(arguments, 1) or None))
    return CommandOutcome(value=done, message=words.undone(before, done.usage.used))


async def _context(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    usage = await context.get(workspace, SessionParams(session_id=_session_id(workspace, arguments)))
    return CommandOutcome(value=usage, message=words.context_line(usage.used, usage.size, usage.meta.ullage.source))


async def _sessions(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    listed = await session.list_sessions(workspace, session.ListSessionsParams(cwd=_text(arguments, 0) or None))
    lines = [f"{entry.session_id}  {entry.title}" for entry in listed.sessions]
    return CommandOutcome(value=listed, message="\n".join(lines) or "No sessions yet.")


async def _import(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    path = _text(arguments, 0)
    progress.report(f"Reading {path}")
    done = await session.import_session(workspace, session.ImportParams(path=path or None))
    usage = done.session.usage
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    return CommandOutcome(value=done, message=f"Imported {done.messages:,} messages ({done.format}). {line}")


COMMANDS: tuple[Command, ...] = (
    Command(name="ullage.compact", title="Compacting", run=_compact),
    Command(name="ullage.preview", title="Previewing a compaction", run=_preview),
    Command(name="ullage.undo", title="Undoing the last edit", run=_undo),
    Command(name="ullage.context", title="Reading the context", run=_context),
    Command(name="ullage.sessions", title="Listing sessions", run=_sessions),
    Command(name="ullage.import", title="Importing", run=_import),
)


def _session_id(workspace: Workspace, arguments: Sequence[Any]) -> str:
    """Returns the session id in the first argument, or without one the id of the session that changed last.

    Raises `SessionNotFound` if there is no argument and no session, and `InvalidRequest` if the argument is not text.
    """
    named = _text(arguments, 0)
    if named:
        return named
    newest = list_main(workspace.ports.store, None, 1)
    if not newest:
        raise SessionNotFound("There is no session yet; import a transcript or start one with ullage/session/new.")
    return newest[0].session_id


def _text(arguments: Sequence[Any], place: int) -> str:
    """Returns the text argument at the index `place`, or "" if it is missing or null. Raises `InvalidRequest` if it is
    not text."""
    given: Any = arguments[place] if place < len(arguments) else None
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidRequest(f"argument {place + 1} must be text, not {type(given).__name__}")
    return given
