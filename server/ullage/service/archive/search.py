"""Searching the archive: everything ever said, whether or not it is still in a context.

The index is brought up to date in steps in a thread, so that sessions stay responsive while a large store is indexed
for the first time; cancelling a search ends after the step that is running, and the next goes on from there.
"""

import asyncio

from msgspec.structs import replace

from ullage.model.errors import MessageNotFound
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.pages import Entry, read_entries
from ullage.service.ports.store import SearchHit
from ullage.service.ports.world import Indexing

# The progress of indexing is published after so many seconds; before that a bar would only flicker.
PATIENCE = 0.5


async def search(
    workspace: Environment, session_id: str | None, query: str, limit: int, patience: float = PATIENCE
) -> tuple[SearchHit, ...]:
    """The messages that fit a query best, in a session or in all (see `SessionStore.search`).

    Publishes the progress of indexing to `workspace.indexing_listeners` after `patience` seconds. Raises
    `InvalidRequest` for a query without a word, `SessionNotFound`.
    """
    await _index(workspace, session_id, patience)
    return await asyncio.to_thread(workspace.ports.store.search, query, session_id, limit)


def find_entry(conversation: Conversation, message_id: str) -> Entry:
    """One message, archived or not. Raises `MessageNotFound`."""
    index = conversation.workspace.ports.store.find_index(conversation.id, message_id)
    if index is None:
        raise MessageNotFound(
            f"no message {message_id!r} in this session; context/search gives the ids of what it finds"
        )
    (entry,) = read_entries(conversation, index, index + 1)
    return entry


async def _index(workspace: Environment, session_id: str | None, patience: float) -> None:
    loop, index_some = asyncio.get_running_loop(), workspace.ports.store.index_some
    started, told = loop.time(), None
    try:
        while left := await asyncio.to_thread(index_some, session_id):
            if told is not None or loop.time() - started > patience:
                told = _publish(workspace, told or _begin(workspace, left), left)
    finally:
        if told is not None:
            _publish(workspace, told, 0)


def _begin(workspace: Environment, left: int) -> Indexing:
    task = asyncio.current_task()
    assert task is not None
    return Indexing(id=workspace.ports.ids.new("index"), left=left, total=left, cancel=task.cancel)


def _publish(workspace: Environment, progress: Indexing, left: int) -> Indexing:
    progress = replace(progress, left=left)
    for listener in tuple(workspace.indexing_listeners):
        listener.indexing(progress)
    return progress
