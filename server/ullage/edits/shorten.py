"""Hard truncation: cuts the middle out of the largest blocks until the context fits, whatever their content.

What the user typed in the newest message is never cut. Every block may keep as much as the others (water-filling), so
short messages stay whole and only very large blocks are cut.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import typed_blocks
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.excerpt import cut_middle
from ullage.model.blocks import (
    Block,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    is_sealed,
    text_and_resources,
)
from ullage.model.edits import Replacement, ShortenEdit
from ullage.model.message import Message
from ullage.transcript.view import replace_block

_PICTURE = "[A picture was left out to make room.]"
_DOCUMENT = "[The content of {title} was left out to make room.]"
# Replaces words, pictures or documents that were removed altogether, because providers refuse a request whose messages
# are all empty.
_NOTHING_LEFT = "…"
# The key that holds the rest of an input with too many parts to keep each of them.
_CUT_INPUT = "cut"
# Each round cuts by the measured excess. Characters per token differ within a text, so one round may not be enough.
_ROUNDS = 12


class _Candidate(Struct, frozen=True):
    message: Message
    block: int
    chars: int
    tokens: int


def shorten(view: CountedView, limit: int, stamp: Stamp, untouched: Collection[str] = ()) -> ShortenEdit | None:
    """Returns the edit that brings the context to at most `limit` tokens by cutting the middle out of large blocks.
    Returns None if the context fits already or nothing can be cut. Messages with an id in `untouched` stay whole. If
    these and the other messages without content exceed `limit`, the result exceeds it, too."""
    if view.used <= limit:
        return None
    candidates = [candidate for candidate in _candidates(view) if candidate.message.id not in untouched]
    room = limit - (view.used - sum(candidate.tokens for candidate in candidates))
    edit: ShortenEdit | None = None
    for done in range(_ROUNDS):
        cap = _level([candidate.tokens for candidate in candidates], room)
        edit = _cut_all(view, candidates, cap, stamp)
        if edit is None or (excess := view.used - edit.tokens_saved - limit) <= 0 or cap <= 0:
            break
        # The first rounds cut in proportion, which takes no more than needed; the later ones subtract, because notices
        # alone may fill what a proportional cut leaves.
        scaled = room * room // (room + excess) if done < _ROUNDS // 2 else room - excess
        # A notice may cost as much as the cut saves, so a step by the excess alone might make no progress.
        room = min(scaled, room - max(len(candidates) // 4, 1 << done))
    return edit if edit is not None and edit.tokens_saved > 0 else None


def cap_blocks(view: CountedView, cap: int, stamp: Stamp, only: Collection[str]) -> ShortenEdit | None:
    """Returns the edit that cuts every block of more than `cap` tokens to about `cap`, in the messages with an id in
    `only`. Returns None if that saves nothing."""
    cap = max(0, cap)
    large = [candidate for candidate in _candidates(view, over=cap) if candidate.message.id in only]
    edit = _cut_all(view, large, cap, stamp)
    # The notice in the gap can cost more than cutting a block that is just over the cap saves.
    return edit if edit is not None and edit.tokens_saved > 0 else None


def _candidates(view: CountedView, over: int = 0) -> Iterator[_Candidate]:
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if tokens <= over:
            continue
        typed = typed_blocks(item.message) if item.message is view.newest else ()
        for i, block in enumerate(item.message.content):
            chars = _chars(block)
            if chars is not None and i not in typed:
                alone = view.measure(replace(item.message, content=(block,)))
                empty = view.measure(replace(item.message, content=(_cut(block, 0),)))
                yield _Candidate(item.message, i, chars, max(0, alone - empty))


def _chars(block: Block) -> int | None:
    """Returns the characters of a block's content, to which its cut is proportional, or None if the block must stay as
    it is."""
    match block:
        case _ if is_sealed(block):
            return None
        case ThinkingBlock(redacted=str(redacted)):
            return len(redacted)
        case ToolUseBlock(input=given):
            return len(_json(given))
        case ImageBlock():
            return len(_PICTURE)
        case ResourceBlock(data=str(data)) if data:
            return len(_left_out(block))
        case _:
            text = _text(block)
            return None if text is None else len(text)


def _text(block: Block) -> str | None:
    match block:
        case TextBlock(text=text) | ThinkingBlock(thinking=text):
            return text
        case ToolResultBlock(content=parts):
            return text_and_resources(parts)
        case ResourceBlock(text=text):
            return text
        case _:
            return None


def _replacement(block: Block, chars: int) -> tuple[str | None, dict[str, Any] | None]:
    """Returns the text or the input that a block keeps when it is cut to about `chars` characters. A placeholder
    replaces an image or a document, and redacted thinking becomes empty, because neither can be cut in the middle."""
    match block:
        case ToolUseBlock(input=given):
            return None, _cut_input(given, chars)
        case ImageBlock():
            return _PICTURE if chars > 0 else _NOTHING_LEFT, None
        case ResourceBlock(data=str(data)) if data:
            return _left_out(block) if chars > 0 else _NOTHING_LEFT, None
        case ThinkingBlock(redacted=str()):
            return "", None
        case TextBlock(text=text) if text.strip():
            left = cut_middle(text, chars)
            return left if left.strip() else _NOTHING_LEFT, None
        case _:
            return cut_middle(_text(block) or "", chars), None


def _left_out(block: ResourceBlock) -> str:
    return _DOCUMENT.format(title=block.title)


def _cut(block: Block, chars: int) -> Block:
    text, given = _replacement(block, chars)
    return replace_block(block, Replacement(message_id="", block=0, text=text, input=given))


def _cut_input(given: dict[str, Any], chars: int) -> dict[str, Any]:
    """Returns a tool input in which the values share `chars` characters. Small values stay whole and large strings and
    lists lose their middle. If there is no room for the keys, one key holds the beginning and end of the whole input.
    """
    keys = sum(len(key) + 1 for key in given)
    if keys > chars:
        return {_CUT_INPUT: cut_middle(_json(given), chars)} if chars > 0 else {}
    texts = {key: value if isinstance(value, str) else _json(value) for key, value in given.items()}
    cap = _level([len(text) for text in texts.values()], chars - keys)
    return {
        key: given[key] if len(text) <= cap or not isinstance(given[key], str | list | dict) else cut_middle(text, cap)
        for key, text in texts.items()
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _level(sizes: Sequence[int], room: int) -> int:
    """Returns the largest cap such that the sizes, each cut to it, sum to at most `room`."""
    left = room
    for done, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - done)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)


def _cut_all(view: CountedView, candidates: list[_Candidate], cap: int, stamp: Stamp) -> ShortenEdit | None:
    replacements = tuple(_cut_to(candidate, cap) for candidate in candidates if candidate.tokens > cap)
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved)


def _cut_to(candidate: _Candidate, cap: int) -> Replacement:
    block = candidate.message.content[candidate.block]
    text, given = _replacement(block, int(candidate.chars * cap / candidate.tokens))
    return Replacement(message_id=candidate.message.id, block=candidate.block, text=text, input=given)
