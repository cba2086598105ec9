"""Search in the archive: all messages of all sessions, whether or not they are in a context.

The index is updated in small steps in a thread, so sessions stay responsive while a large store is indexed for the
first time. A search waits some seconds for the index and then searches what is indexed, and says so. Cancelling a
search stops it after the running step. The next search continues from there.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import MessageNotFound
from ullage.service.archive.reordering import MOST_PASSAGES, is_wanted, reorder
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.pages import Entry, read_entries
from ullage.service.ports.store import Passage, SearchHit
from ullage.service.ports.world import Indexing


class Found(Struct, frozen=True, kw_only=True):
    """The messages that match a search, best first. `unread` is the number of stored records that are not indexed yet,
    so that the search knows nothing of them. `note` says in a sentence what the user should know of the results, ""
    if there is nothing."""

    hits: tuple[SearchHit, ...]
    unread: int = 0
    note: str = ""


async def search(workspace: Environment, session_id: str | None, query: str, limit: int) -> Found:
    """Returns at most `limit` messages that match the query best, in one session or, if `session_id` is None, in all.
    Messages that are not indexed yet are indexed first, as far as `workspace.search_wait` allows. See
    `SessionStore.search` for the query. An embeddings server in the settings orders them, too (`reordering.py`).

    The progress of a long indexing is published to `workspace.indexing_listeners`. Raises `InvalidRequest` if the query
    has no word, and `SessionNotFound`.
    """
    store = workspace.ports.store
    unread = await _index(workspace, session_id)
    reorders = is_wanted(workspace)
    most = max(limit, MOST_PASSAGES) if reorders else limit
    passages: Sequence[Passage] = await asyncio.to_thread(store.find_passages, query, session_id, most)
    notes = [note for note in (workspace.store_away, words.not_indexed(unread) if unread else "") if note]
    if reorders:
        passages, failed = await reorder(workspace, query, passages)
        notes += [failed] if failed else []
    return Found(hits=tuple(passage.hit for passage in passages[:limit]), unread=unread, note=" ".join(notes))


def find_entry(conversation: Conversation, message_id: str) -> Entry:
    """Returns the message with this id, archived or not. Raises `MessageNotFound`."""
    index = conversation.workspace.ports.store.find_index(conversation.id, message_id)
    if index is None:
        raise MessageNotFound(
            f"no message {message_id!r} in this session; context/search gives the ids of what it finds"
        )
    (entry,) = read_entries(conversation, index, index + 1)
    return entry


async def _index(workspace: Environment, session_id: str | None) -> int:
    """Indexes what a search needs, as far as its wait allows, and returns the number of records left."""
    wait = workspace.search_wait
    loop, index_some = asyncio.get_running_loop(), workspace.ports.store.index_some
    started, shown = loop.time(), None
    try:
        while left := await asyncio.to_thread(index_some, session_id):
            passed = loop.time() - started
            if wait.most is not None and passed >= wait.most:
                break
            if shown is not None or passed > wait.silent:
                shown = _publish(workspace, shown or _begin(workspace, left), left)
    finally:
        if shown is not None:
            _publish(workspace, shown, 0)
    return left


def _begin(workspace: Environment, left: int) -> Indexing:
    task = asyncio.current_task()
    assert task is not None
    return Indexing(id=workspace.ports.ids.new("index"), left=left, total=left, cancel=task.cancel)


def _publish(workspace: Environment, progress: Indexing, left: int) -> Indexing:
    progress = replace(progress, left=left)
    for listener in tuple(workspace.indexing_listeners):
        listener.indexing(progress)
    return progress
