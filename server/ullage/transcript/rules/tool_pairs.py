"""A tool use and its results must stay together.

Anthropic answers 400 to a `tool_use` without its `tool_result` in the next message, and to a result without its use;
OpenAI does the same for `tool_calls` and `tool` messages.
"""

from collections.abc import Iterator, Sequence

from ullage.model.blocks import ToolResultBlock, ToolUseBlock, is_sealed
from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Yields ranges of forbidden cuts: those between a tool use and its result, and those after a use that still waits
    for its result."""
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
            elif isinstance(block, ToolResultBlock) and i and any(map(is_sealed, messages[i - 1].content)):
                # Its call may be what only the provider can read, for example a reference to an item.
                yield range(i, i + 1)
    # If assistant messages follow a use without a result, the result will never come: the use needs no partner.
    if last_assistant in open_uses.values():
        yield range(last_assistant + 1, len(messages))


def is_prompt(message: Message) -> bool:
    """Returns whether the message begins a prompt turn: it has the user's role and a block that is not a tool
    result."""
    return message.role is Role.USER and any(not isinstance(block, ToolResultBlock) for block in message.content)


def is_pure_prompt(message: Message) -> bool:
    """Returns whether the message has the user's role and content, but no tool result. Such a message can be kept
    without its neighbours."""
    return is_prompt(message) and not any(isinstance(block, ToolResultBlock) for block in message.content)
