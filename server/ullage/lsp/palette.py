"""The commands for a client's command palette, for clients without our plugin.

A command about a session takes the session's id as its first argument; the default is the client's own session
(`OwnSession`).
"""

from collections.abc import Sequence
from typing import Any

from ullage.agents.discovery import is_in
from ullage.api import agent_methods as agents
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.session_methods import SessionParams
from ullage.lsp.commands import Command, CommandOutcome
from ullage.lsp.progress import Progress
from ullage.model import words
from ullage.model.errors import InvalidRequest
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import ImportOutcome


async def _compact(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    session_id, focus = _text(arguments, 0), _text(arguments, 1)
    progress.report("Writing the summary")
    done = await context.compact(workspace, context.CompactParams(session_id=session_id, focus=focus))
    # No message: the compaction publishes a notice of its own.
    return CommandOutcome(value=done, session_id=session_id)


async def _preview(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    params = context.CompactParams(session_id=session_id, focus=_text(arguments, 1), dry_run=True)
    seen = await context.compact(workspace, params)
    sizes = words.shrinking(seen.context_size_before, seen.context_size_after)
    return CommandOutcome(value=seen, session_id=session_id, message=f"{sizes}\n\n{seen.summary}")


async def _undo(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    before = workspace.open(session_id).used
    done = await context.undo(workspace, context.UndoParams(session_id=session_id, edit_id=_text(arguments, 1) or None))
    return CommandOutcome(value=done, session_id=session_id, message=words.undone(before, done.usage.used))


async def _context(workspace: Workspace, arguments: Sequence[Any], _: Progress) -> CommandOutcome:
    session_id = _text(arguments, 0)
    usage = await context.get(workspace, SessionParams(session_id=session_id))
    line = words.context_line(usage.used, usage.size, usage.meta.ullage.source)
    followed = (await agents.list_followed(workspace, agents.FollowingParams())).rows
    for row in followed:
        # The figure of a file's end is there before the whole file is read into its session.
        if row.session_id == session_id and row.used is not None and row.used_source is not None:
            line = words.context_line(row.used, row.window, row.used_source)
    return CommandOutcome(value=usage, session_id=session_id, message=line)


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
    what = f"Imported {done.messages:,} messages ({done.format})."
    if done.outcome is ImportOutcome.UNCHANGED:
        what = f"Nothing new: all {done.messages:,} messages ({done.format}) were imported before."
    return CommandOutcome(value=done, session_id=done.session.session_id, message=f"{what} {line}")


async def _follow(workspace: Workspace, arguments: Sequence[Any], progress: Progress) -> CommandOutcome:
    folders = tuple(_text(arguments, place) for place in range(len(arguments)))
    progress.report("Reading the conversations of agents")
    done = await agents.start_following(workspace, agents.StartFollowingParams(folders=folders))
    # In a message of one line there is room for one conversation: the folder's, or else the last changed.
    own = [row for row in done.rows if any(is_in(row.cwd, folder) for folder in folders)]
    text = words.follows(len(done.rows))
    for row in (own or done.rows)[:1]:
        text = f"{text} {words.about(row.title, f'{row.agent}. {_row_line(row)}'.strip())}"
    return CommandOutcome(value=done, message=text)


def _row_line(row: agents.FollowedConversation) -> str:
    if row.used is None or row.used_source is None:
        return ""
    return words.context_line(row.used, row.window, row.used_source)


async def _unfollow(workspace: Workspace, _: Sequence[Any], __: Progress) -> CommandOutcome:
    done = await agents.stop_following(workspace, agents.FollowingParams())
    return CommandOutcome(value=done, message="The conversations of agents are not followed any more.")


COMMANDS: tuple[Command, ...] = (
    Command(name="ullage.compact", title="Compacting", run=_compact, takes_session=True),
    Command(name="ullage.preview", title="Previewing a compaction", run=_preview, takes_session=True),
    Command(name="ullage.undo", title="Undoing the last edit", run=_undo, takes_session=True),
    Command(name="ullage.context", title="Reading the context", run=_context, takes_session=True),
    Command(name="ullage.sessions", title="Listing sessions", run=_sessions),
    Command(name="ullage.import", title="Importing", run=_import),
    Command(name="ullage.follow", title="Following agents", run=_follow, takes_folders=True),
    Command(name="ullage.unfollow", title="Following no longer", run=_unfollow),
)


def _text(arguments: Sequence[Any], place: int) -> str:
    """Returns the text argument at the index `place`, or "" if it is missing or null. Raises `InvalidRequest` if it is
    not text."""
    given: Any = arguments[place] if place < len(arguments) else None
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidRequest(f"argument {place + 1} must be text, not {type(given).__name__}")
    return given
