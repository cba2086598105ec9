"""Search in the archive: all messages of all sessions, whether or not they are in a context.

The index is updated in small steps in a thread, so sessions stay responsive while a large store is indexed for the
first time. Cancelling a search stops it after the running step. The next search continues from there.
"""

import asyncio

from msgspec.structs import replace

from ullage.model.errors import MessageNotFound
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.pages import Entry, read_entries
from ullage.service.ports.store import SearchHit
from ullage.service.ports.world import Indexing

# Seconds until the progress of indexing is published. Most searches are done by then, and a progress bar would only
# flicker.
PATIENCE = 0.5


async def search(
    workspace: Environment, session_id: str | None, query: str, limit: int, patience: float = PATIENCE
) -> tuple[SearchHit, ...]:
    """Returns at most `limit` messages that match the query best, in one session or, if `session_id` is None, in all.
    Messages that are not indexed yet are indexed first. See `SessionStore.search` for the query.

    After `patience` seconds of indexing, the progress is published to `workspace.indexing_listeners`. Raises
    `InvalidRequest` if the query has no word, and `SessionNotFound`.
    """
    await _index(workspace, session_id, patience)
    return await asyncio.to_thread(workspace.ports.store.search, query, session_id, limit)


def find_entry(conversation: Conversation, message_id: str) -> Entry:
    """Returns the message with this id, archived or not. Raises `MessageNotFound`."""
    index = conversation.workspace.ports.store.find_index(conversation.id, message_id)
    if index is None:
        raise MessageNotFound(
            f"no message {message_id!r} in this session; context/search gives the ids of what it finds"
        )
    (entry,) = read_entries(conversation, index, index + 1)
    return entry


async def _index(workspace: Environment, session_id: str | None, patience: float) -> None:
    loop, index_some = asyncio.get_running_loop(), workspace.ports.store.index_some
    started, shown = loop.time(), None
    try:
        while left := await asyncio.to_thread(index_some, session_id):
            if shown is not None or loop.time() - started > patience:
                shown = _publish(workspace, shown or _begin(workspace, left), left)
    finally:
        if shown is not None:
            _publish(workspace, shown, 0)


def _begin(workspace: Environment, left: int) -> Indexing:
    task = asyncio.current_task()
    assert task is not None
    return Indexing(id=workspace.ports.ids.new("index"), left=left, total=left, cancel=task.cancel)


def _publish(workspace: Environment, progress: Indexing, left: int) -> Indexing:
    progress = replace(progress, left=left)
    for listener in tuple(workspace.indexing_listeners):
        listener.indexing(progress)
    return progress
