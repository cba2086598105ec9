"""Search in the archive: all messages of all sessions, whether or not they are in a context.

The index is updated in small steps in a thread, so sessions stay responsive while a large store is indexed for the
first time. A search waits some seconds for the index and then searches what is indexed, and says so. Cancelling a
search stops it after the running step. The next search continues from there.

In a server, everything is also indexed in the background (`indexing`), so that a search seldom waits.

The `recall` tool: a model searches the archive of its own conversation and reads messages in it.

The tool's result is a quotation: every line of the record begins with `> `, after a line of ours that says so. No text
in the record can therefore be taken for our words, for a message, or for the end of the quotation.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from math import sqrt
from operator import mul
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import AnswerBroken, InvalidRequest, MessageNotFound, StoreError, UllageError
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    number_of,
)
from ullage.model.settings import SearchSettings, context_settings
from ullage.redaction.clean import ARCHIVED, hide_text, quoted_as_said, redact
from ullage.service.conversation.conversation import Conversation, Entry, read_entries
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.work import repeated
from ullage.service.ports.models import Embeds, Indexing, ToolOutcome
from ullage.service.ports.store import ChunkId, Passage, SearchHit

# Passages that are put in another order: the first page of results and what may come onto it.
MOST_PASSAGES = 50
# Texts of one request. Servers accept far more (OpenAI 2,048), but those at home take seconds for this many.
_BATCH = 32
# The constant of reciprocal rank fusion, as in its paper.
_FUSION = 60
# The largest number of a vector as it is kept.
_LARGEST = 127


class _Asked(Struct, frozen=True):
    """The vectors that are asked for: of a query, and of passages, by those who want them."""

    workspace: Environment
    embed: Embeds
    query: str
    passages: Sequence[Passage]

    @property
    def settings(self) -> SearchSettings:
        return self.workspace.settings.search

    @property
    def model(self) -> str:
        """The name by which the store keeps the vectors. Another server's model has other vectors."""
        return f"{self.settings.embeddings_model} {self.settings.embeddings_url}"


def is_wanted(workspace: Environment) -> bool:
    """Returns whether an embeddings server is to be asked."""
    return workspace.ports.embed is not None and bool(workspace.settings.search.embeddings_url)


async def reorder(workspace: Environment, query: str, passages: Sequence[Passage]) -> tuple[Sequence[Passage], str]:
    """Returns the passages, best first by words and meaning together, and "". If the server gives no vectors in time,
    returns them as they are, with a sentence that says why."""
    embed = workspace.ports.embed
    if embed is None or not passages:
        return passages, ""
    if workspace.embedding is not None and not workspace.embedding.done():
        return passages, words.words_alone("the embeddings server still works on an earlier search")
    first = passages[:MOST_PASSAGES]
    work = asyncio.get_running_loop().create_task(_vectors(_Asked(workspace, embed, query, first)))
    workspace.embedding = work
    # An error that comes after the wait concerns no search any more.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([work], timeout=workspace.search_wait.embeddings)
    except asyncio.CancelledError:
        work.cancel()
        raise
    if not work.done():
        return passages, words.words_alone("the embeddings server takes long; a later search may have them")
    try:
        wanted, vectors = work.result()
    except UllageError as error:
        return passages, words.words_alone(str(error))
    return [*_fused(first, wanted, vectors), *passages[MOST_PASSAGES:]], ""


def _fused(passages: Sequence[Passage], wanted: bytes, vectors: Mapping[ChunkId, bytes]) -> list[Passage]:
    """Returns the passages in the joint order, with scores that fall in it. Of the words half are enough for a message
    to fit the query, wherever they are: its meaning is judged as well."""
    near = sorted(range(len(passages)), key=lambda at: -_cosine(wanted, vectors[passages[at].id]))
    scores = [1 / (_FUSION + at) for at in range(len(passages))]
    for rank, at in enumerate(near):
        scores[at] += 1 / (_FUSION + rank)
    ordered = sorted(range(len(passages)), key=lambda at: -scores[at])
    return [_judged(passages[at], scores[at]) for at in ordered]


def _judged(passage: Passage, score: float) -> Passage:
    fits = passage.hit.fits or passage.has_half
    return replace(passage, hit=replace(passage.hit, score=score, fits=fits))


async def _vectors(asked: _Asked) -> tuple[bytes, Mapping[ChunkId, bytes]]:
    """Returns the vectors of the query and of all passages. Those that the store lacks, or has in another length than
    the query's, are asked for in batches. Each batch is kept as soon as it is there."""
    store, passages = asked.workspace.ports.store, asked.passages
    patterns = _private(asked.workspace)
    kept = await asyncio.to_thread(store.load_vectors, asked.model, [one.id for one in passages])
    (wanted,) = await _ask(asked, [asked.query], patterns)
    kept = {chunk: vector for chunk, vector in kept.items() if len(vector) == len(wanted)}
    missing = [one for one in passages if one.id not in kept]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        made = await _ask(asked, [one.text for one in batch], patterns)
        if any(len(vector) != len(wanted) for vector in made):
            raise AnswerBroken(f"its vectors have {len(wanted)} and {len(made[0])} dimensions")
        new = {one.id: vector for one, vector in zip(batch, made, strict=True)}
        await asyncio.to_thread(store.save_vectors, asked.model, new)
        kept.update(new)
    return wanted, kept


async def _ask(asked: _Asked, texts: Sequence[str], patterns: Sequence[str]) -> list[bytes]:
    """Returns the vectors of texts. Secrets and private text are not sent to the server."""
    sent = await asyncio.to_thread(lambda: [hide_text(redact(text), patterns) for text in texts])
    return [_pack(vector) for vector in await asked.embed(asked.settings, sent)]


def _private(workspace: Environment) -> Sequence[str]:
    """Returns the private patterns of all settings and sessions: a passage may be of any session."""
    settings = workspace.settings
    models = ("", *settings.models)
    patterns = [pattern for model in models for pattern in context_settings(settings, model).private_patterns]
    for own in workspace.ports.store.own_settings():
        patterns += own.get("privatePatterns", ())
    return tuple(dict.fromkeys(patterns))


def _pack(vector: Sequence[float]) -> bytes:
    """Returns a vector as the store keeps it: signed bytes, the largest 127, which are enough to compare directions."""
    largest = max(map(abs, vector))
    scale = _LARGEST / largest if largest else 0.0
    return bytes(round(number * scale) & 0xFF for number in vector)


def _cosine(one: bytes, other: bytes) -> float:
    """Returns the cosine of the angle between two packed vectors of the same length, 0 if one of them is zero."""
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    lengths = sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return sum(map(mul, a, b)) / lengths if lengths else 0.0


class SearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages that match the query, best first. `context/messages` with a hit's `sessionId` and `messageId` gives
    the whole message. `unread` is the number of stored records that are not indexed yet and so were not searched;
    `note` is a sentence to show with the results, if it is not empty."""

    hits: tuple[SearchHit, ...]
    unread: int = 0
    note: str = ""


async def search(workspace: Environment, session_id: str | None, query: str, limit: int) -> SearchResult:
    """Returns at most `limit` messages that match the query best, in one session or, if `session_id` is None, in all.
    Messages that are not indexed yet are indexed first, as far as `workspace.search_wait` allows. See
    `SessionStore.search` for the query. An embeddings server in the settings orders them, too.

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
    return SearchResult(hits=tuple(passage.hit for passage in passages[:limit]), unread=unread, note=" ".join(notes))


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


log = logging.getLogger(__name__)
# Seconds until the first step: an editor that starts has other work first.
_FIRST = 5.0
# Seconds between two looks for messages while nothing is left. A look at a complete index reads a few rows.
_EVERY = 5.0
# The pause after a step, as a multiple of its time, so that a large store takes a fifth of one processor.
_REST = 4.0


def indexing(workspace: Environment, first: float = _FIRST, every: float = _EVERY) -> AbstractContextManager[None]:
    """Indexes the store's messages in the background while the block runs."""

    async def step() -> float:
        """Indexes some messages. Returns the seconds until the next step."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            left = await asyncio.to_thread(workspace.ports.store.index_some)
        except StoreError as error:
            # Another program may hold the file; a search would say the same.
            log.warning("Could not index the store: %s", error)
            left = 0
        return _REST * (loop.time() - started) if left else every

    return repeated(step, first)


async def index_session(workspace: Environment, session_id: str, tell: Callable[[int], object]) -> None:
    """Indexes all messages of a session, inherited ones included. Calls `tell` with the number of records left after
    each step but the last. Raises `StoreError`."""
    while left := await asyncio.to_thread(workspace.ports.store.index_some, session_id):
        tell(left)


NAME = "recall"
# Characters on one page of a message: about 2,000 tokens, so that recalling a message cannot fill the room that a
# compaction has made.
PAGE_CHARS = 8_000
_MAX_HITS = 20

RECALL = ToolDefinition(
    name=NAME,
    description=(
        "Looks something up in this conversation's archive: every message ever, also those that were compacted and are "
        "no longer in your context. Ask with `query`: names as they stood (files, functions, error texts) find best, "
        "a question in plain words finds too. You get the best passages with their message ids. Ask with `message_id` "
        "to read one of them whole, `page` by `page` if it is long. Use it before you ask the user again for, or read "
        "or compute again, what was there before."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": _MAX_HITS,
                "description": "How many passages, 5 unless given.",
            },
            "message_id": {"type": "string", "description": "Reads this message whole, instead of searching."},
            "page": {"type": "integer", "minimum": 1, "description": "Which page of a long message, 1 unless given."},
        },
    },
)


class RecallInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the `recall` tool: `query` searches and gives at most `limit` messages; `message_id` reads one message,
    `page` by `page` from 1."""

    query: str = ""
    limit: Annotated[int, Meta(ge=1, le=_MAX_HITS)] = 5
    message_id: str = ""
    page: Annotated[int, Meta(ge=1)] = 1


async def recall(conversation: Conversation, arguments: Any) -> ToolOutcome:
    """Returns the result of one call of the `recall` tool. Only this session's messages are searched, inherited ones
    included.

    Never raises an `UllageError`: the error's text becomes the result, so that the model can correct its call.
    """
    try:
        return ToolOutcome(text=await _answer(conversation, _read(arguments)))
    except UllageError as error:
        return ToolOutcome(text=str(error), is_error=True)


def message_lines(message: Message) -> Iterator[str]:
    """Yields a message's content as lines of text: texts, tool calls with their input as JSON, and tool results. An
    image is only named, and thinking is left out."""
    for block in message.content:
        yield from block_lines(block)


def block_lines(block: Block) -> Sequence[str]:
    """Returns a block as lines of text; see `message_lines`."""
    return _block_text(block).splitlines()


async def _answer(conversation: Conversation, wanted: RecallInput) -> str:
    if wanted.message_id:
        return _page(find_entry(conversation, wanted.message_id), wanted.page)
    found = await search(conversation.workspace, conversation.id, wanted.query, wanted.limit)
    notes = [found.note] if found.note else []
    if not found.hits:
        return " ".join((f"Nothing in the archive matches {wanted.query!r}. Try other names or words.", *notes))
    passages = (_passage(conversation, hit) for hit in found.hits)
    more = "More of one: recall with its message_id."
    return "\n\n".join((ARCHIVED, *_doubt(found.hits), *notes, *passages, more))


def _read(arguments: Any) -> RecallInput:
    try:
        return msgspec.convert(arguments, RecallInput)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"recall: {error}; give `query`, or `message_id` with `page`") from None


def _doubt(hits: Sequence[SearchHit]) -> Sequence[str]:
    if any(hit.fits for hit in hits):
        return ()
    return ("No message has most of the query's words together, so the archive may hold no answer. The nearest:",)


def _passage(conversation: Conversation, hit: SearchHit) -> str:
    entry = find_entry(conversation, hit.message_id)
    return f"{_head(entry)}\n{quoted_as_said(hit.snippet.splitlines())}"


def _page(entry: Entry, page: int) -> str:
    text = "\n".join(message_lines(entry.message))
    pages = max(1, -(-len(text) // PAGE_CHARS))
    if page > pages:
        raise InvalidRequest(f"recall: message {entry.message.id} has {pages} pages; there is no page {page}")
    lines = text[(page - 1) * PAGE_CHARS : page * PAGE_CHARS].split("\n")
    place = f"Page {page} of {pages}."
    more = f" Next: recall with message_id {entry.message.id} and page {page + 1}." if page < pages else ""
    return f"{ARCHIVED}\n\n{_head(entry)}\n{quoted_as_said(lines)}\n\n{place}{more}"


def _head(entry: Entry) -> str:
    where = "archived" if entry.archived else "still in your context"
    return f"message_id {entry.message.id} (message {number_of(entry.index)}, {entry.message.role.value}, {where}):"


def _block_text(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"[calls {block.name}] {json.dumps(block.input, ensure_ascii=False)}"
        case ToolResultBlock():
            head = "[tool error] " if block.is_error else "[tool result] "
            return head + "\n".join(map(_block_text, block.content))
        case ResourceBlock():
            return f"[resource {block.title}]\n{block.text or ''}"
        case ImageBlock():
            return "[picture]"
        case _:
            return ""
