"""The cost of messages and tool definitions beyond their bare text. Counters differ in `count` only; this part is
the same for all."""

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from math import ceil

from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.marker import render_marker
from ullage.model.message import Message, Role, ToolDefinition, is_memory_file
from ullage.model.usage import Breakdown
from ullage.tokens.documents import count_page, count_pages
from ullage.tokens.families import Family
from ullage.tokens.images import count_image
from ullage.tokens.tool_text import TYPESCRIPT_OVERHEAD, render_input, render_json, render_typescript

# Encrypted reasoning is base64 of about four bytes a token, plus what the encryption adds (about 10 %).
_CHARACTERS_PER_REDACTED_TOKEN = 6


class MessageCounter(ABC):
    """The base of the counters: counts messages and tools block by block. Subclasses define `count`, for a text.
    `family` has the tokens that the provider's framing adds."""

    def __init__(self, family: Family) -> None:
        self.family = family

    @abstractmethod
    def count(self, text: str) -> int:
        """Returns the tokens of a text."""

    def count_message(self, message: Message) -> int:
        """Returns the tokens that one message adds to a prompt, the provider's framing included."""
        return self.break_down(message).total

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Returns the sum of `count_message` over the messages."""
        return sum(map(self.count_message, messages))

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens of a request: of its messages, its tools, and the opening of the answer."""
        return self.count_messages(messages) + self.count_tools(tools) + (self.family.reply if messages else 0)

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens that the definitions of offered tools add to a prompt."""
        if not tools:
            return 0
        if self.family.tools_as_typescript:
            return self.count(render_typescript(tools)) + TYPESCRIPT_OVERHEAD
        return self.count(render_json(tools)) + self.family.tool_prompt + self.family.per_tool * len(tools)

    def break_down(self, message: Message, memory_uses: Container[str] = ()) -> Breakdown:
        """Returns a message's tokens by kind. Results of the tool uses with an id in `memory_uses`, and resources that
        are memory files, count as memory. The tokens of the provider's framing count with the messages, or with the
        system prompt."""
        framing = self.family.per_message + self._count_name(message)
        if message.role is Role.SYSTEM and message.compaction is None:
            memory = sum(self._count_block(block) for block in message.content if _kind(block, memory_uses) == "memory")
            whole = framing + sum(map(self._count_block, message.content))
            return Breakdown(system_prompt=whole - memory, memory=memory)
        tokens = {"messages": 0, "memory": 0, "tool_results": 0, "summary": 0}
        for block in message.content:
            tokens[_kind(block, memory_uses)] += self._count_block(block)
        # A provider frames each tool result by itself, so a message with nothing else has no frame of its own.
        if not message.content or any(not isinstance(block, ToolResultBlock) for block in message.content):
            tokens["messages"] += framing
        return Breakdown(**tokens)

    def _count_name(self, message: Message) -> int:
        """Returns the tokens of the field `name` that OpenAI's messages may have: those of its text and one more
        (source: OpenAI's cookbook, "How to count tokens with tiktoken"). 0 without a name."""
        name = message.provided.fields.get("name") if message.provided else None
        return self.count(name) + 1 if isinstance(name, str) and name else 0

    def _count_block(self, block: Block) -> int:
        match block:
            case ToolUseBlock():
                text = render_input(block, escaped=self.family.escaped_input)
                return self.family.per_tool_call + self.count(block.name) + self.count(text)
            case ToolResultBlock():
                return self.family.per_tool_result + sum(map(self._count_part, block.content))
            case ThinkingBlock():
                return self.count(block.thinking) + ceil(len(block.redacted or "") / _CHARACTERS_PER_REDACTED_TOKEN)
            case CompactionBlock():
                # The provider that made the sealed compaction is sent it, every other provider is sent the text.
                return max(self.count(render_marker(block)), block.sealed.tokens if block.sealed else 0)
            case _:
                return self._count_part(block)

    def _count_part(self, part: ResultPart) -> int:
        match part:
            case TextBlock():
                return self.count(part.text)
            case ImageBlock():
                return count_image(part, self.family.images)
            case ResourceBlock(data=str(data)) if part.is_document:
                return self.count(part.name) + count_pages(data) * count_page(self.family.images)
            case ResourceBlock(data=str(data)) if data:
                # No provider takes it, so the model is sent its title alone.
                return self.count(part.title)
            case ResourceBlock():
                return self.count(part.uri) + self.count(part.text or "")


def _kind(block: Block, memory_uses: Container[str]) -> str:
    match block:
        case ToolResultBlock() if block.tool_use_id in memory_uses:
            return "memory"
        case ToolResultBlock():
            return "tool_results"
        case CompactionBlock():
            return "summary"
        case ResourceBlock() if is_memory_file(block.uri):
            return "memory"
        case _:
            return "messages"
