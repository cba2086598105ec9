"""A tool use and its results are never parted.

Anthropic answers 400 to a `tool_use` without its `tool_result` in the next message, and to a result without its
use; OpenAI likewise for `tool_calls` and `tool` messages.
"""

from collections.abc import Iterator, Sequence

from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Cuts between a use and its result, and behind a use whose result is still to come."""
    open_uses: dict[str, int] = {}
    last_assistant = -1
    for i, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            last_assistant = i
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                open_uses[block.id] = i
            elif isinstance(block, ToolResultBlock) and block.tool_use_id in open_uses:
                use = open_uses.pop(block.tool_use_id)
                if use < i:
                    yield range(use + 1, i + 1)
    # A use that later assistant messages have left behind lost its result for good: nothing to hold together.
    if last_assistant in open_uses.values():
        yield range(last_assistant + 1, len(messages))


def is_prompt(message: Message) -> bool:
    """Whether a message is something a person typed rather than what tools returned."""
    return message.role is Role.USER and any(not isinstance(block, ToolResultBlock) for block in message.content)


def is_pure_prompt(message: Message) -> bool:
    """Whether a message is the user's words alone, tied to no tool use, so that it may stand anywhere."""
    return is_prompt(message) and not any(isinstance(block, ToolResultBlock) for block in message.content)
