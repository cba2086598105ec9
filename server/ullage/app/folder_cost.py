"""What the conversations of agents cost that belong to a folder: each request once, whatever file or copy reports it.

A file is read whole, once; the catalogue keeps what it cost until the file changes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.discovery import UnreadFile
from ullage.agents.transcripts import read_document
from ullage.app.known_conversations import KnownConversations, whole_document
from ullage.catalog.limits import price_of, prices_date
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import UllageError
from ullage.model.usage import Usage
from ullage.policy.spending import PaidRequest, paid_requests
from ullage.service.conversation.workspace import Workspace
from ullage.store.sqlite.catalogue_notes import ReadCosts
from ullage.store.store_place import StorePlace, local_path
from ullage.watch.candidates import Candidate

# More sessions than a store has.
_ALL = 1_000_000


class ConversationCost(Struct, frozen=True, kw_only=True):
    """A conversation and its requests. `agent` is "" for one that Ullage has; `agent_session_id` is then its id.
    `is_side` says whether it is a sub-agent's."""

    agent: str
    agent_session_id: str
    title: str
    path: str
    is_side: bool
    requests: Sequence[PaidRequest]


class FolderCost(Struct, frozen=True, kw_only=True):
    """The conversations that have made requests, and the files that could not be read."""

    conversations: tuple[ConversationCost, ...]
    unread: tuple[UnreadFile, ...]


def read_folder_cost(
    workspace: Workspace, place: StorePlace | None, folder: Path | None, shown: Callable[[int, int], None]
) -> FolderCost:
    """Returns what the conversations of a folder cost, those of all folders for None: agents' and Ullage's own. Blocks
    while it reads, and calls `shown` with the number of files that are done and of all."""
    kept, found = ReadCosts(local_path(place), prices_date()), KnownConversations(workspace, place).of_folder(folder)
    known, unread, seen = kept.read({one.place for one, _ in found}), list[UnreadFile](), set[object]()
    conversations: list[ConversationCost] = []
    for number, (one, candidate) in enumerate(found):
        shown(number, len(found))
        stat, parts = known.get(one.place, ((), ()))
        if stat != candidate.stat:
            try:
                parts = tuple(_parts(candidate, is_side=one.is_side))
            except OSError as error:
                unread.append(UnreadFile(path=one.path, reason=error.strerror or str(error)))
                continue
            except UllageError as error:
                unread.append(UnreadFile(path=one.path, reason=str(error)))
                continue
            kept.write(one.place, candidate.stat, parts)
        for is_side, requests in parts:
            cost = ConversationCost(
                agent=one.agent,
                agent_session_id=one.agent_session_id,
                title=one.title,
                path=one.path,
                is_side=is_side,
                requests=[*_new(requests, one.place, seen)],
            )
            conversations.append(cost)
    conversations += _own(workspace, None if folder is None else str(folder), seen)
    return FolderCost(conversations=tuple(one for one in conversations if one.requests), unread=tuple(unread))


def _new(requests: Iterable[PaidRequest], place: str, seen: set[object]) -> Iterator[PaidRequest]:
    """Yields the requests that no other conversation has reported, and notes them. Copies of a conversation give their
    answers other ids."""
    for one in requests:
        key = (one.at, one.model, one.tokens) if one.at else (place, one.answer)
        if key not in seen:
            seen.add(key)
            yield one


def _own(workspace: Workspace, folder: str | None, seen: set[object]) -> Iterator[ConversationCost]:
    """Yields the stored sessions that are no copies of an agent's conversation. A fork has its parent's requests, too,
    which are not paid again."""
    store = workspace.ports.store
    copies = {one.session_id for one in store.imported()}
    for info in store.list(folder, _ALL):
        if info.session_id not in copies and info.messages:
            events = [(record.event, record.timestamp) for record in store.read(info.session_id)]
            yield ConversationCost(
                agent="",
                agent_session_id=info.session_id,
                title=info.title,
                path="",
                is_side=False,
                requests=[*_new(paid_requests(events, info.model, _cost), info.session_id, seen)],
            )


def _parts(candidate: Candidate, *, is_side: bool) -> Iterator[tuple[bool, tuple[PaidRequest, ...]]]:
    """Yields the requests of a file's conversation, and of its sub-agents' in the same file."""
    document = whole_document(candidate)
    transcript = read_document(document)
    yield is_side or transcript.is_sub_agent, _requests(transcript)
    for run in (skipped.run for skipped in transcript.skipped):
        if run is not None:
            yield True, _requests(read_document(replace(document, run=run)))


def _requests(transcript: ImportedTranscript) -> tuple[PaidRequest, ...]:
    return tuple(paid_requests(((event, 0) for event in transcript.events), transcript.model, _cost))


def _cost(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.cost(usage)
