"""Tool calls of messages, each with its result."""

from collections.abc import Sequence

from ullage.agents.calls import ToolCall, fenced_call, joined_call
from ullage.agents.results import fenced_command
from ullage.model.message import Message, ToolResultBlock, ToolUseBlock


def tool_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Returns the calls, with the indices of their messages."""
    blocks = [(index, block) for index, message in enumerate(messages) for block in message.content]
    results = {block.tool_use_id: (block, index) for index, block in blocks if isinstance(block, ToolResultBlock)}
    native = [
        joined_call(block, index, *results.get(block.id, (None, -1)))
        for index, block in blocks
        if isinstance(block, ToolUseBlock)
    ]
    commands = [(index, fenced_command(messages, index)) for index in range(len(messages))]
    return native + [fenced_call(one, index, messages[index + 1].text) for index, one in commands if one]
