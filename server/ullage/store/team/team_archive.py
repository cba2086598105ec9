"""Sends redacted copies of the sessions of a folder to a team's archive, and removes them from it."""

from collections.abc import Callable, Sequence
from os.path import normpath

from msgspec import Struct

from ullage.agents.discovery import is_in
from ullage.model.events import Record
from ullage.service.ports.store import Passage, SessionStore
from ullage.service.ports.team import TeamHit
from ullage.store.postgres.postgres_store import PostgresStore
from ullage.store.team.redacted_copy import copy_id, redacted_copy, workspace_of

# More sessions than any store has.
_ALL = 1 << 40
# Called with the number of sessions that were looked at, and their number.
Tell = Callable[[int, int], object]


class SentFolder(Struct, frozen=True, kw_only=True):
    """What was done for a folder: the numbers of its sessions in the archive, of copies that were made or continued,
    and of copies that were removed."""

    sessions: int
    sent: int
    removed: int


class Sharing(Struct, frozen=True, kw_only=True):
    """A folder that is shared: with which roles of the database, and without which private text, as regular
    expressions."""

    folder: str
    members: tuple[str, ...]
    patterns: tuple[str, ...] = ()


def send_folder(source: SessionStore, team: PostgresStore, sharing: Sharing, tell: Tell) -> SentFolder:
    """Makes the archive have a redacted copy of each session of a folder, and of the folders in it, and lets the
    members read them. A copy whose session is gone, or that would be redacted otherwise now, is removed first. Raises
    `StoreUnavailable` and `Conflict`."""
    infos = [info for info in source.list(limit=_ALL) if is_in(normpath(info.cwd), sharing.folder)]
    wanted = {copy_id(info.session_id): info for info in infos if info.cwd}
    workspace = workspace_of(sharing.folder)
    there = set(team.shared_in(workspace))
    for gone in there - wanted.keys():
        team.delete(gone)
    sent = 0
    forgets = bool(there - wanted.keys())
    for done, (name, info) in enumerate(wanted.items()):
        log = source.read(info.session_id)
        records = tuple(redacted_copy(info, log, sharing.patterns))
        if name not in there:
            _create(team, name, records, workspace)
            sent += 1
        elif records != (known := team.read(name)):
            if records[: len(known)] == known:
                team.append(name, records[len(known) :])
            else:
                team.delete(name)
                _create(team, name, records, workspace)
                forgets = True
            sent += 1
        tell(done + 1, len(wanted))
    while team.index_some():
        pass
    if forgets:
        team.forget_words()
    team.set_members(workspace, sharing.members)
    return SentFolder(sessions=len(wanted), sent=sent, removed=len(there - wanted.keys()))


def _create(team: PostgresStore, name: str, records: Sequence[Record], workspace: str) -> None:
    if name in team.find_ids(name, 1):
        # It was made and not yet put into the folder's workspace when a program was ended, or is of another folder.
        team.delete(name)
    team.create(name, records)
    team.share(name, workspace)


def remove_folder(team: PostgresStore, folder: str) -> int:
    """Removes all that the user shared of a folder, and its members. Returns the number of sessions."""
    workspace = workspace_of(folder)
    team.set_members(workspace, ())
    names = team.shared_in(workspace)
    for name in names:
        team.delete(name)
    team.forget_words()
    return len(names)


def find_in_team(team: PostgresStore, query: str, limit: int) -> tuple[TeamHit, ...]:
    """Returns what matches in a team's archive that was opened for reading what others share, best first. Raises
    `InvalidRequest` if the query has no word."""
    return tuple(_hit(team, passage) for passage in team.find_passages(query, None, limit))


def _hit(team: PostgresStore, passage: Passage) -> TeamHit:
    session_id = passage.hit.session_id
    owner, _ = team.owner(session_id)
    info = team.info(session_id)
    return TeamHit(owner=owner, folder=info.cwd, title=info.title, passage=passage)
