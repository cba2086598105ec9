"""Computes how small a context can be made, from the rules alone, so that edits can be judged by the result. If a
context is above its floor and over its limit, a law is broken."""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from lawcheck.situation import Situation
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.transcript.view import Item, groups, kept, leading

# Tokens: the notice for dropped messages in its longest wording, and the frame of its message.
NOTICE = 40


def of_whole_groups(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped: leading and pinned messages, the newest
    that the user typed, last group, notice."""
    return _sum(situation, _staying(situation), empty=False) + NOTICE


def of_everything_cut(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped, and the remaining blocks are emptied, except
    those of pinned messages and those that the user typed in the newest message."""
    return _sum(situation, _staying(situation), empty=True) + NOTICE


def _sum(situation: Situation, staying: Collection[str], *, empty: bool) -> int:
    view = situation.view
    newest, whole = newest_typed(view.items), _pinned_groups(situation)
    total = view.fixed
    for message in view.messages:
        if message.id in staying:
            is_cut = empty and message.id not in whole
            typed = said(message) if message is newest else ()
            total += view.measure(emptied(message, typed) if is_cut else message)
    return total


def _staying(situation: Situation) -> frozenset[str]:
    messages = situation.view.messages
    if not messages:
        return frozenset()
    transcript = situation.transcript
    last = (messages[i].id for i in groups(messages)[-1])
    system = (message.id for message in messages if message.role is Role.SYSTEM)
    newest = newest_typed(situation.view.items)
    pinned = transcript.pinned | ({newest.id} if newest else set[str]())
    return frozenset({*leading(messages, transcript.first_user_id), *kept(messages, pinned), *system, *last})


def _pinned_groups(situation: Situation) -> frozenset[str]:
    messages, pinned = situation.view.messages, situation.transcript.pinned
    together = (group for group in groups(messages) if any(messages[i].id in pinned for i in group))
    return frozenset(messages[i].id for group in together for i in group)


def newest_typed(items: Sequence[Item]) -> Message | None:
    """Returns the newest message in which the user said something, or showed a picture or a document. Markers and
    notices are inserted, and no user said them."""
    own = (item.message for item in reversed(items) if not item.inserted and not item.message.compaction)
    return next((message for message in own if said(message)), None)


def said(message: Message) -> tuple[Block, ...]:
    """Returns the blocks of a message that are the user's own: none of a tool's message but the words next to its
    results, and none of a message of blanks alone."""
    if message.role is not Role.USER:
        return ()
    own = tuple(block for block in message.content if not isinstance(block, ToolResultBlock))
    words = tuple(block for block in own if isinstance(block, TextBlock) and block.text.strip())
    if len(own) < len(message.content):
        return words
    return own if words or any(not isinstance(block, TextBlock) for block in own) else ()


def emptied(message: Message, typed: Collection[Block] = ()) -> Message:
    """Returns the message with nothing in its blocks but the ids that connect them with others, and with the blocks
    `typed` as they are."""
    return replace(message, content=tuple(block if block in typed else _empty(block) for block in message.content))


def _empty(block: Block) -> Block:
    match block:
        case TextBlock() | ImageBlock():
            return TextBlock(text="" if isinstance(block, TextBlock) and not block.text.strip() else "…")
        case ThinkingBlock():
            return ThinkingBlock(thinking="")
        case ToolUseBlock():
            return replace(block, input={})
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=""),))
        case _:
            return replace(block, text="") if isinstance(block, ResourceBlock) and block.text else block
