"""A counter whose results can be computed by hand."""

from collections.abc import Container, Sequence

from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Breakdown
from ullage.tokens.counter import TokenCounter
from ullage.tokens.families import UNKNOWN


class LengthCounter(TokenCounter):
    """Counts four characters as a token."""

    name = "length"
    error_share = 0.5

    def __init__(self) -> None:
        super().__init__(UNKNOWN)

    def count(self, text: str) -> int:
        return -(-len(text) // 4)

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
        return self.count_messages(messages) + self.count_tools(tools)

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
        return sum(self.count(tool.description) for tool in tools)

    def break_down(self, message: Message, memory_uses: Container[str] = ()) -> Breakdown:
        return Breakdown(messages=self.count(message.text))
