"""The tools `ullage_search` and `ullage_open`: a model finds messages of its conversation, and reads them in pages."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

from ullage.agents.discovery import is_in
from ullage.mcp.asked import Asked
from ullage.mcp.message_pages import shown_page
from ullage.mcp.references import Reference, read_reference, reference_of
from ullage.mcp.result_size import MAX_RESULT
from ullage.mcp.shown_passages import passage, results_of
from ullage.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import MessageNotFound, SessionNotFound
from ullage.redaction.quoting import HISTORY, RECORD, cut, size_of
from ullage.service.archive.recall import message_lines
from ullage.service.archive.search import find_entry, search
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import Entry, read_entries
from ullage.service.ports.store import SearchHit

# Characters of a passage, of the best hits and of the others: so most results have room for all that are asked for.
_BEST_HITS, _BEST, _OTHERS = 3, 480, 240
# Hits of all sessions among which those of one project are looked for.
_LOOKED_AT = 200
# Hits among which those are left out that are earlier calls of these tools: more than a conversation makes of a query.
_ECHOES = 20
# What comes before a tool's own name: our prefix, and that of the agent (`mcp__ullage__ullage_search`).
_SERVER = re.compile(r"\w*ullage\w*?[_.:/-]+", re.IGNORECASE)
# The names of each tool's arguments.
OwnTools = Mapping[str, frozenset[str]]


async def search_text(asked: Asked, query: str, limit: int, own: OwnTools, *, whole_project: bool) -> str:
    """Returns the passages that match `query` best, each with its reference: from the model's own conversation, or from
    all stored ones of its project. If none fits the query, returns the references alone: a model takes what it reads
    for evidence. Earlier calls of the tools `own` are left out. Raises `InvalidRequest` if the query has no word."""
    session_id, most = (None, _LOOKED_AT) if whole_project else (asked.own.id, limit + _ECHOES)
    found = await search(asked.own.workspace, session_id, query, most)
    matches = _project_hits(asked, found.hits) if whole_project else found.hits
    hits = [*islice((hit for hit in matches if not _is_echo(asked, hit, own)), limit)]
    note = f" {found.note}" if found.note else ""
    where = "the stored conversations of this project" if whole_project else "this conversation"
    if not any(hit.fits for hit in hits):
        wider = "" if whole_project else ', or scope "project"'
        lacks = (
            f"Nothing in {where} {'has most of the words together, so there may be no answer' if hits else 'matches'}."
        )
        nearest = f" The nearest: {', '.join(_references(asked, hits[:_BEST_HITS]))}." if hits else ""
        return f"{lacks} Try names as they stood, other words{wider}.{note}{nearest}"
    lines = [RECORD, f"The best matches in {where}, the best first.{note}"]
    last = "A whole message: ullage_open with its reference."
    room = MAX_RESULT - sum(map(size_of, lines)) - size_of(last) - 100
    shown = 0
    ids = {hit.message_id for hit in hits}
    for hit in hits:
        shows = ["", *_found(asked, hit, ids, _BEST if shown < _BEST_HITS else _OTHERS)]
        room -= sum(map(size_of, shows))
        if room < 0:
            break
        lines += shows
        shown += 1
    left = f"{len(hits) - shown} more did not fit here. " if shown < len(hits) else ""
    return "\n".join([*lines, "", left + last])


def open_text(asked: Asked, text: str, page: int) -> str:
    """Returns a page of the messages that the reference `text` means. Raises `InvalidRequest`, `SessionNotFound` or
    `MessageNotFound`."""
    reference = read_reference(text)
    conversation = _session_of(asked, reference)
    total = conversation.transcript.messages
    if reference.first > total:
        raise MessageNotFound(f"open: there is no #{reference.first}: the messages are #1 to #{total}")
    entries = read_entries(conversation, reference.first - 1, min(reference.last, total))
    heads = {entry.index: _head(entry, _shown_id(asked.own, conversation.id)) for entry in entries}
    texts = {entry.index: "\n".join(message_lines(entry.message)) for entry in entries}
    return shown_page(text, heads, texts, page)


def _project_hits(asked: Asked, hits: Sequence[SearchHit]) -> Iterator[SearchHit]:
    own = asked.own
    store = own.workspace.ports.store
    known = {session_id: store.info(session_id).cwd for session_id in {hit.session_id for hit in hits}}
    return (hit for hit in hits if hit.session_id == own.id or _is_of_project(asked, known[hit.session_id]))


def _is_echo(asked: Asked, hit: SearchHit, own: OwnTools) -> bool:
    """Returns whether a message has nothing but calls of these tools, or results of such calls. An agent writes a call
    to its record before the tool runs, so a search would find its own query first, and later ones what earlier results
    have quoted."""
    message = find_entry(_open(asked, hit.session_id), hit.message_id).message
    return bool(message.content) and all(_is_ours(block, own) for block in message.content)


def _is_ours(block: Block, own: OwnTools) -> bool:
    match block:
        case ToolUseBlock(name=name, input=given):
            # An agent may have another tool of the same name, whose arguments are others.
            fields = own.get(_SERVER.sub("", name, count=1))
            return fields is not None and fields >= given.keys()
        case ToolResultBlock(content=parts):
            return any(isinstance(part, TextBlock) and (RECORD in part.text or HISTORY in part.text) for part in parts)
        case _:
            return False


def _found(asked: Asked, hit: SearchHit, shown: Container[str], length: int) -> Iterator[str]:
    conversation = _open(asked, hit.session_id)
    entry = find_entry(conversation, hit.message_id)
    yield f"{_head(entry, _shown_id(asked.own, hit.session_id))}:"
    yield from passage(entry, hit.snippet, length)
    yield from results_of(conversation, entry, shown)


def _references(asked: Asked, hits: Sequence[SearchHit]) -> Iterator[str]:
    for hit in hits:
        entry = find_entry(_open(asked, hit.session_id), hit.message_id)
        yield cut(reference_of(entry.index, _shown_id(asked.own, hit.session_id)), 200)


def _session_of(asked: Asked, reference: Reference) -> Conversation:
    """Returns the session of a reference. Only sessions of the model's own project are given. Raises
    `SessionNotFound`."""
    own, name = asked.own, reference.session
    if not name or name == own.id:
        return own
    store = own.workspace.ports.store
    ids = store.find_ids(name, 2)
    if len(ids) == 1 or name in ids:
        session_id = name if name in ids else ids[0]
        if session_id == own.id or _is_of_project(asked, store.info(session_id).cwd):
            return _open(asked, session_id)
    raise SessionNotFound(
        f"open: no session {name[:40]!r} of this project; give a reference as `ullage_search` with scope "
        "project shows it"
    )


def _is_of_project(asked: Asked, cwd: str) -> bool:
    """Returns whether a conversation that began in the folder `cwd` is about the same project as the model's own: in
    the folder of that one, in the folder that the agent works in, or inside one of them."""
    roots = {asked.own.transcript.cwd, asked.folder} - {"", "/"}
    return any(is_in(cwd, root) for root in roots)


def _open(asked: Asked, session_id: str) -> Conversation:
    return asked.own if session_id == asked.own.id else asked.open(session_id)


def _shown_id(own: Conversation, session_id: str) -> str:
    return "" if session_id == own.id else session_id


def _head(entry: Entry, session: str) -> str:
    where = "archived" if entry.archived else "in the context"
    return f"{cut(reference_of(entry.index, session), 200)} {entry.message.speaker}, {where}"
