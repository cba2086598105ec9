"""The cost of messages and tool definitions beyond their bare text, and the text by which a model sees tools: their
definitions and its own tool uses. Counters differ in `count` only; this part is the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from math import ceil
from typing import Any, cast

import msgspec

from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    is_memory_file,
    render_marker,
)
from ullage.model.usage import Breakdown
from ullage.tokens.families import Family
from ullage.tokens.images import count_image, count_page, count_pages

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
        return sum(map(self.count_message, messages))

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens of a request: of its messages, its tools, and the opening of the answer."""
        return self.count_messages(messages) + self.count_tools(tools) + (self.family.reply if messages else 0)

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
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


# Tokens around the rendered definitions in OpenAI's prompt (source: gpt-tokenizer, litellm).
TYPESCRIPT_OVERHEAD = 9

_TYPES = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null", "string": "string"}


def render_typescript(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as OpenAI's models are shown them: a TypeScript namespace."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        if tool.description:
            lines.append(f"// {tool.description}")
        fields = list(_render_fields(tool.input_schema))
        if fields:
            lines += [f"type {tool.name} = (_: {{", *fields, "}) => any;", ""]
        else:
            lines += [f"type {tool.name} = () => any;", ""]
    return "\n".join([*lines, "} // namespace functions"])


def render_json(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as most other models are shown them: one JSON object per line."""
    return "\n".join(
        to_json({"name": tool.name, "description": tool.description, "parameters": tool.input_schema}) for tool in tools
    )


def render_input(block: ToolUseBlock, *, escaped: bool) -> str:
    """Returns the input of a tool use as a model is shown it: as one JSON object if `escaped`, else each name on one
    line with its bare value on the next lines."""
    if escaped:
        return to_json(block.input)
    return "\n".join(
        f"{name}\n{value if isinstance(value, str) else to_json(value)}" for name, value in block.input.items()
    )


def to_json(value: Any) -> str:
    """Returns the value as compact JSON. If JSON cannot hold it (for example a lone surrogate), returns its Python
    `repr`."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError, RecursionError):
        return repr(value)


def _render_fields(schema: dict[str, Any]) -> Iterator[str]:
    required = _strings(schema.get("required"))
    for name, field in _objects(schema.get("properties")).items():
        if description := field.get("description"):
            yield f"// {description}"
        yield f"{name}{'' if name in required else '?'}: {_render_type(field)},"


def _render_type(schema: dict[str, Any]) -> str:
    if choices := _list(schema.get("enum")):
        return " | ".join(to_json(choice) for choice in choices)
    if options := _list(schema.get("anyOf")) or _list(schema.get("oneOf")):
        return " | ".join(
            _render_type(cast("dict[str, Any]", option)) for option in options if isinstance(option, dict)
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(one), str(one)) for one in cast("list[Any]", kind))
    if kind == "array":
        items = schema.get("items")
        return f"{_render_type(cast('dict[str, Any]', items))}[]" if isinstance(items, dict) else "any[]"
    if kind == "object" or "properties" in schema:
        fields = list(_render_fields(schema))
        return "\n".join(["{", *fields, "}"]) if fields else "object"
    return _TYPES.get(str(kind), "any")


def _objects(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): cast("dict[str, Any]", field) if isinstance(field, dict) else {}
        for name, field in cast("dict[Any, Any]", value).items()
    }


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _strings(value: Any) -> set[str]:
    return {item for item in _list(value) if isinstance(item, str)}
