"""The conversations of the folder in which the user is: stored sessions, and those in agents' own files."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from ullage.agents import transcripts
from ullage.agents.discovery import Found, UnreadFile, Wanted, is_in
from ullage.app.agent_following import followed_now
from ullage.cli.reports import ConversationRow
from ullage.model.errors import InputError, UllageError
from ullage.model.followed import FollowedRow
from ullage.service.archive.discovered import with_sessions
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.live_rows import row_of
from ullage.service.follow.sub_agents import list_main
from ullage.service.imports import project_transcript
from ullage.service.ports.store import SessionInfo
from ullage.store.store_place import StorePlace
from ullage.system.transcript_files import read_transcript_file

R = TypeVar("R", bound=FollowedRow)
# Agents' files that are read whole for their figures, the newest, and the most bytes of them together: what a user who
# waits for a list has patience for.
_READ, _MOST_BYTES = 5, 12 << 20
# Conversations that are looked through for the nearest folder that has any.
_NEAR = 200


class Here(Struct, frozen=True, kw_only=True):
    """A folder, its stored sessions and the conversations in agents' own files, each last changed first. A conversation
    is in `sessions` or in `found`: where it changed last. `unread` are files that could not be read."""

    folder: Path
    sessions: tuple[SessionInfo, ...]
    found: tuple[Found, ...]
    unread: tuple[UnreadFile, ...]

    @property
    def newest(self) -> SessionInfo | Found | None:
        """The conversation that changed last."""
        return max((*self.sessions, *self.found), key=lambda one: one.updated_at, default=None)


def look_here(workspace: Workspace, limit: int, folder: Path | None = None) -> Here:
    """Returns the last changed conversations, at most `limit` of each kind, of the folder (by default the working
    folder), or of its nearest parent that has any: in a folder of a project, the project's."""
    folder = (folder or Path.cwd()).resolve()
    here = _look_in(workspace, folder, limit)
    if here.sessions or here.found:
        return here
    found = workspace.ports.transcripts.find(Wanted(limit=_NEAR)).conversations
    cwds = {one.cwd for one in found if is_in(str(folder), one.cwd)}
    for place in folder.parents:
        if str(place) in cwds or list_main(workspace.ports.store, str(place), 1):
            return _look_in(workspace, place, limit)
    return here


def find_newest(workspace: Workspace) -> SessionInfo | Found:
    """Returns the conversation of this folder that changed last. Raises `InputError` if there is none."""
    here = look_here(workspace, 1)
    if here.newest is None:
        raise InputError(
            f"no conversation of {here.folder} was found; name a transcript, or a session (`ullage sessions` lists the "
            "stored ones)"
        )
    return here.newest


def look_elsewhere(workspace: Workspace, here: Here) -> Here:
    """Returns the newest conversations of the whole machine, a few, as `here` holds those of its folder."""
    return _look_in(workspace, here.folder, _READ, alone=False)


def list_conversations(workspace: Workspace, here: Here) -> list[ConversationRow]:
    """Returns a row for each conversation, the fullest first; those with an unknown window or figure last."""
    rows = [*(_stored_row(info, workspace.open(info.session_id)) for info in here.sessions)]
    left = _MOST_BYTES
    for number, found in enumerate(here.found):
        readable = number < _READ and found.size <= left
        left -= found.size if readable else 0
        rows.append(_found_row(found, _read(workspace, found) if readable else None))
    return fullest_first(rows)


def live_rows(store: StorePlace | None) -> list[FollowedRow]:
    """Returns the conversations that a process follows now into the store at `store` (None: the user's), the fullest
    first. Returns an empty list if no process follows."""
    return fullest_first(followed_now(store))


def fullest_first(rows: Iterable[R]) -> list[R]:
    """Returns the rows, the fullest context first; those with an unknown window or figure last."""
    return sorted(rows, key=lambda row: (row.percent is None, -(row.percent or 0), -(row.used or 0), -row.updated_at))


def _look_in(workspace: Workspace, folder: Path, limit: int, *, alone: bool = True) -> Here:
    """Looks in the folder alone, or on the whole machine."""
    wanted = Wanted(limit=limit, folder=str(folder) if alone else "", alone=alone)
    listing = with_sessions(workspace, workspace.ports.transcripts.find(wanted))
    stored = list_main(workspace.ports.store, str(folder) if alone else None, limit)
    times = {info.session_id: info.updated_at for info in stored}
    newer = [one for one in listing.conversations if one.found.updated_at > times.get(one.session_id or "", 0)]
    followed = {one.session_id for one in newer}
    return Here(
        folder=folder,
        sessions=tuple(info for info in stored if info.session_id not in followed),
        found=tuple(one.found for one in newer),
        unread=listing.unread,
    )


def _read(workspace: Workspace, found: Found) -> Conversation | None:
    """Returns the conversation in an agent's file, or None if it can't be read."""
    try:
        transcript = transcripts.read_document(read_transcript_file(Path(found.path), found.run))
        return asyncio.run(project_transcript(workspace, transcript))
    except UllageError:
        return None


def _stored_row(info: SessionInfo, conversation: Conversation) -> ConversationRow:
    """Returns the row of a stored session."""
    row = row_of(conversation)
    return ConversationRow(**asdict(replace(row, updated_at=row.updated_at or info.updated_at)), stored=True)


def _found_row(found: Found, conversation: Conversation | None) -> ConversationRow:
    row = ConversationRow(
        session_id=found.origin_id,
        agent_session_id=found.origin_id,
        stored=False,
        path=found.path,
        run=found.run,
        title=found.title,
        cwd=found.cwd,
        agent=found.agent,
        model=found.model,
        updated_at=found.updated_at,
    )
    if conversation is None:
        return row
    read = row_of(conversation)
    named = replace(
        read,
        session_id=row.session_id,
        agent_session_id=row.agent_session_id,
        path=row.path,
        title=row.title or read.title,
        cwd=row.cwd or read.cwd,
        agent=row.agent or read.agent,
        model=read.model or row.model,
        updated_at=read.updated_at or row.updated_at,
    )
    return ConversationRow(**asdict(named), stored=False, run=found.run)
