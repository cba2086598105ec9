"""The `recall` tool: a model searches the archive of its own conversation and reads messages in it.

The tool's result is a quotation: every line of the record begins with `> `, after a line of ours that says so. No text
in the record can therefore be taken for our words, for a message, or for the end of the quotation.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ullage.model.blocks import Block, ImageBlock, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.message import Message, ToolDefinition, number_of
from ullage.redaction.quoting import ARCHIVED, quoted_as_said
from ullage.service.archive.search import find_entry, search
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import Entry
from ullage.service.ports.models import ToolOutcome
from ullage.service.ports.store import SearchHit

NAME = "recall"
# Characters on one page of a message: about 2,000 tokens, so that recalling a message cannot fill the room that a
# compaction has made.
PAGE_CHARS = 8_000
_MAX_HITS = 20

DEFINITION = ToolDefinition(
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
