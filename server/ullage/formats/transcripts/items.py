"""Converts items of OpenAI's Responses API into messages.

Consecutive items of the model become one assistant message.
"""

from collections.abc import Iterable

from ullage.formats.parsing import to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments, read_parts
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.json_values import JsonObject, as_text
from ullage.model.message import Role

_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}
# Tools that the provider runs itself. The call and its result are one item, which becomes its JSON as text.
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
ITEM_TYPES = {"message", "reasoning", *_CALLS, *_OUTPUTS, *_HOSTED}
_SYSTEM_ROLES = ("system", "developer")


class ItemReader:
    """Adds items to a builder. `last_answer` is the id of the last assistant message, empty before the first."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._role: Role | None = None
        self._content: list[Block] = []
        self._timestamp = 0
        self.last_answer = ""

    def add_all(self, items: Iterable[JsonObject]) -> None:
        """Adds each item. An item of unknown type is recorded as skipped, by its index counted from 1."""
        for index, item in enumerate(items, start=1):
            if not self.add(item):
                self._builder.skip(index, f"item {index} has no known type: {item.get('type')!r}", expected=False)
        self.flush()

    def add(self, item: JsonObject, timestamp: int = 0) -> bool:
        """Adds one item. Returns False if its type is unknown and nothing was added."""
        kind = as_text(item.get("type")) or ("message" if "role" in item else "")
        if kind == "message":
            self._add_message(item, timestamp)
        elif kind in _OUTPUTS:
            self._extend(Role.USER, [_read_output(item)], timestamp)
        elif kind in _CALLS:
            self._extend(Role.ASSISTANT, [_read_call(item)], timestamp)
        elif kind == "reasoning":
            self._extend(Role.ASSISTANT, _read_reasoning(item), timestamp)
        elif kind in _HOSTED:
            self._extend(Role.ASSISTANT, [TextBlock(text=to_json(item))], timestamp)
        else:
            return False
        return True

    def flush(self) -> None:
        """Adds the message that the last items make up. `add` collects items until the role changes."""
        if self._role is not None and self._content:
            added = self._builder.add(self._role, self._content, timestamp=self._timestamp)
            self.last_answer = added if self._role is Role.ASSISTANT else self.last_answer
        self._role, self._content = None, []

    def _add_message(self, item: JsonObject, timestamp: int) -> None:
        role = as_text(item.get("role"))
        content = list(read_parts(item.get("content")))
        if role == "assistant":
            self._extend(Role.ASSISTANT, content, timestamp)
            return
        self.flush()
        self._builder.add(Role.SYSTEM if role in _SYSTEM_ROLES else Role.USER, content, timestamp=timestamp)

    def _extend(self, role: Role, blocks: Iterable[Block], timestamp: int) -> None:
        if self._role is not role:
            self.flush()
            self._role, self._timestamp = role, timestamp
        self._content.extend(blocks)


def _read_call(item: JsonObject) -> ToolUseBlock:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    return ToolUseBlock(
        id=as_text(item.get("call_id")) or as_text(item.get("id")),
        name=as_text(item.get("name")) or as_text(item.get("type")).removesuffix("_call"),
        input=read_arguments(arguments),
    )


def _read_output(item: JsonObject) -> ToolResultBlock:
    return ToolResultBlock(
        tool_use_id=as_text(item.get("call_id")) or as_text(item.get("id")), content=read_parts(item.get("output"))
    )


def _read_reasoning(item: JsonObject) -> list[Block]:
    """Returns the readable part of a reasoning item.

    The encrypted part is left out, because only OpenAI can read it.
    """
    parts = [*read_parts(item.get("summary")), *read_parts(item.get("content"))]
    text = join_texts(parts)
    return [ThinkingBlock(thinking=text)] if text else []
