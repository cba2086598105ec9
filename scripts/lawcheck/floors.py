"""Computes how small a context can be made, from the rules alone, so that edits can be judged by the result. If a
context is above its floor and over its limit, a law is broken."""

from collections.abc import Collection

from msgspec.structs import replace

from lawcheck.situation import Situation
from ullage.model.blocks import (
    Block,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import kept, leading

# Tokens: the notice for dropped messages in its longest wording, and the frame of its message.
NOTICE = 40


def of_whole_groups(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped: leading and pinned messages, last group,
    notice."""
    return _sum(situation, _staying(situation), empty=False) + NOTICE


def of_everything_cut(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped, and the remaining blocks are emptied."""
    return _sum(situation, _staying(situation), empty=True) + NOTICE


def _sum(situation: Situation, staying: Collection[str], *, empty: bool) -> int:
    view = situation.view
    messages = [message for message in view.messages if message.id in staying]
    return view.fixed + sum(view.measure(emptied(message) if empty else message) for message in messages)


def _staying(situation: Situation) -> frozenset[str]:
    messages = situation.view.messages
    if not messages:
        return frozenset()
    transcript = situation.transcript
    last = (messages[i].id for i in groups(messages)[-1])
    system = (message.id for message in messages if message.role is Role.SYSTEM)
    return frozenset({*leading(messages, transcript.first_user_id), *kept(messages, transcript.pinned), *system, *last})


def emptied(message: Message) -> Message:
    """Returns the message with nothing in its blocks but the ids that connect them with others."""
    return replace(message, content=tuple(_empty(block) for block in message.content))


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
