"""The conversations of coding agents on this machine, each with the stored session that was imported from it."""

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.discovery import Discovery, Found, UnreadFile, Wanted
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionStore


class Listed(Struct, frozen=True, kw_only=True):
    """A conversation that was found on this machine. `session_id` is the id of the stored session that was imported
    from it last, or None."""

    found: Found
    session_id: str | None


class Listing(Struct, frozen=True, kw_only=True):
    """The conversations that were found on this machine, and the files that could not be read."""

    conversations: tuple[Listed, ...]
    unread: tuple[UnreadFile, ...]


async def list_found(workspace: Workspace, wanted: Wanted) -> Listing:
    """Returns conversations of agents, the folder's first. Their files are read in a thread."""
    return with_sessions(workspace, await asyncio.to_thread(workspace.ports.transcripts.find, wanted))


def with_sessions(workspace: Workspace, discovery: Discovery) -> Listing:
    """Returns the conversations with their stored sessions."""
    listed = tuple(_with_sessions(workspace.ports.store, discovery.conversations))
    return Listing(conversations=listed, unread=discovery.unread)


def _with_sessions(store: SessionStore, found: Sequence[Found]) -> Iterator[Listed]:
    """Yields each conversation with the id of its stored session, if there is one. They are matched by the format and
    the agent's own id of the conversation."""
    sessions: dict[tuple[str, str], str] = {}
    for imported in store.imported() if found else ():
        sessions.setdefault((imported.format, imported.origin_id), imported.session_id)
    for one in found:
        yield Listed(found=one, session_id=sessions.get((one.format, one.origin_id)) if one.origin_id else None)
