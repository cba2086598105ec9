"""How small a context can be made at most: worked out here from the rules alone, so that the edits can be judged by it.
What is above its floor and did not reach its limit, broke the law."""

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

# The notice that stands where messages were left out, in the longest wording, and its message's frame.
NOTICE = 40


def of_whole_groups(situation: Situation) -> int:
    """With every group gone that may go: what leads, what is pinned, the last group, a notice."""
    return _sum(situation, _staying(situation), empty=False) + NOTICE


def of_everything_cut(situation: Situation) -> int:
    """With every group gone that may go, and nothing left in the blocks that stay."""
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
    """The message with nothing in its blocks but what ties them to others."""
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
