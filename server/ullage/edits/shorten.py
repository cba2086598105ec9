"""Hard truncation: the largest blocks lose their middle until the context fits, whatever came in.

The last rung of the ladder. Every block may keep as much as the others (water-filling), so short messages stay
whole and only what is far too large is cut.
"""

from collections.abc import Collection, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import (
    Block,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from ullage.model.edits import Replacement, ShortenEdit
from ullage.model.message import Message
from ullage.transcript.replace import replace_block

# Of what stays of a cut text: the head tells what it is, the tail how it ended.
_HEAD_SHARE = 0.6
_GAP = "\n[… {gone:,} characters left out to make room …]\n"
# Each round cuts by the measured excess; characters per token differ within a text, so one round may fall short.
_ROUNDS = 12


class _Candidate(Struct, frozen=True):
    message: Message
    block: int
    text: str
    tokens: int


def shorten(view: CountedView, limit: int, stamp: Stamp) -> ShortenEdit | None:
    """The edit that brings the context to at most `limit` tokens by cutting large blocks; None if it fits already
    or nothing can be cut. Not even this can help when `limit` is below what empty messages cost."""
    if view.used <= limit:
        return None
    candidates = list(_candidates(view))
    room = limit - (view.used - sum(candidate.tokens for candidate in candidates))
    edit: ShortenEdit | None = None
    for _ in range(_ROUNDS):
        cap = _level([candidate.tokens for candidate in candidates], room)
        edit = _cut_all(view, candidates, cap, stamp)
        if edit is None or (excess := view.used - edit.tokens_saved - limit) <= 0:
            break
        room -= max(excess, len(candidates) // 4, 1)
        if cap <= 0:
            break
    return edit


def cap_blocks(view: CountedView, cap: int, stamp: Stamp, only: Collection[str]) -> ShortenEdit | None:
    """The edit that cuts every block of more than `cap` tokens in the messages `only` to about `cap`; None if
    that saves nothing."""
    large = [candidate for candidate in _candidates(view, over=cap) if candidate.message.id in only]
    edit = _cut_all(view, large, cap, stamp)
    # The notice in the gap can cost more than a block just over the cap gives up.
    return edit if edit is not None and edit.tokens_saved > 0 else None


def _candidates(view: CountedView, over: int = 0) -> Iterator[_Candidate]:
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if tokens <= over:
            continue
        for i, block in enumerate(item.message.content):
            text = _text(block)
            if text is not None:
                alone = view.measure(replace(item.message, content=(block,)))
                empty = view.measure(replace(item.message, content=(_emptied(block),)))
                yield _Candidate(item.message, i, text, max(0, alone - empty))


def _text(block: Block) -> str | None:
    """What of a block can be cut; None for what must stay as it is."""
    match block:
        case TextBlock(text=text) | ThinkingBlock(thinking=text, redacted=None):
            return text
        case ToolResultBlock(content=parts):
            return "\n".join(part.text or "" for part in parts if isinstance(part, TextBlock | ResourceBlock))
        case ResourceBlock(text=text):
            return text
        case ImageBlock():
            return ""
        case _:
            return None


def _emptied(block: Block) -> Block:
    return replace_block(block, Replacement(message_id="", block=0, text=""))


def _level(sizes: list[int], room: int) -> int:
    """The largest cap such that the sizes, each cut to it, sum to at most `room`."""
    left = room
    for done, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - done)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)


def _cut_all(view: CountedView, candidates: list[_Candidate], cap: int, stamp: Stamp) -> ShortenEdit | None:
    replacements = tuple(
        Replacement(
            message_id=candidate.message.id,
            block=candidate.block,
            text=cut_middle(candidate.text, int(len(candidate.text) * cap / candidate.tokens)),
        )
        for candidate in candidates
        if candidate.tokens > cap
    )
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved)


def cut_middle(text: str, chars: int) -> str:
    """At most `chars` characters of a text, a notice in the middle; the bare head where even that has no room."""
    if len(text) <= chars:
        return text
    gap = _GAP.format(gone=len(text) - chars)
    room = chars - len(gap)
    if room < len(gap):
        return text[:chars]
    head = int(room * _HEAD_SHARE)
    return text[:head] + gap + text[len(text) - (room - head) :]
