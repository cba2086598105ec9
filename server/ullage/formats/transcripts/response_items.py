"""Converts items of OpenAI's Responses API into messages.

Consecutive items of the model become one assistant message, consecutive tool results one message of the user.
"""

from collections.abc import Iterable
from typing import Any

from ullage.formats.parsing import to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments, read_parts
from ullage.model.blocks import (
    Block,
    ImageBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Role

_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
_OUTPUTS = {
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "tool_search_output",
}
# Tools that the provider runs itself. The call and its result are one item, which becomes its JSON as text.
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"}
_IMAGE = "image_generation_call"
ITEM_TYPES = {"message", "reasoning", _IMAGE, *_CALLS, *_OUTPUTS, *_HOSTED}
_SYSTEM_ROLES = ("system", "developer")


def item_type(item: JsonObject) -> str:
    """Returns the item's type. An item without a type but with a role is a `message`. Empty if it has neither."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


def is_from_model(item: JsonObject) -> bool:
    """Returns whether the model wrote the item: a message of the assistant, a call or reasoning."""
    kind = item_type(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in ITEM_TYPES - _OUTPUTS


def is_output(item: JsonObject) -> bool:
    """Returns whether the item is a tool's result."""
    return item_type(item) in _OUTPUTS


class ItemReader:
    """Adds items of OpenAI's Responses API to a builder. Consecutive items of one side become one message, which has
    the id of its first item that has one. `last_answer` is the id of the last assistant message added, empty before the
    first."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._role: Role | None = None
        self._content: list[Block] = []
        self._timestamp = 0
        self._id = ""
        self.last_answer = ""

    def add_all(self, items: Iterable[JsonObject]) -> None:
        """Adds all items. An item of unknown type is recorded as skipped, by its number from 1."""
        for index, item in enumerate(items, start=1):
            if not self.add(item):
                self._builder.skip(index, f"item {index} has no known type: {item.get('type')!r}", expected=False)
        self.flush()

    def add(self, item: JsonObject, timestamp: int = 0) -> bool:
        """Adds one item; `timestamp` is Unix milliseconds. Returns False if its type is unknown and nothing was
        added."""
        kind = item_type(item)
        if kind == "message" and item.get("role") == "assistant":
            self._extend(Role.ASSISTANT, read_parts(item.get("content")), item, timestamp)
        elif kind == "message":
            self.add_message(item, timestamp)
        elif kind in _OUTPUTS:
            self._extend(Role.USER, [_read_output(item)], item, timestamp)
        elif kind in _CALLS:
            self._extend(Role.ASSISTANT, [_read_call(item)], item, timestamp)
        elif kind == "reasoning":
            self._extend(Role.ASSISTANT, _read_reasoning(item), item, timestamp)
        elif kind == _IMAGE:
            self._extend(Role.ASSISTANT, _read_image(item), item, timestamp)
        elif kind in _HOSTED:
            self._extend(Role.ASSISTANT, [TextBlock(text=to_json(item))], item, timestamp)
        else:
            return False
        return True

    @property
    def answering(self) -> bool:
        """Whether items of the model's answer were added that `flush` has not yet made a message of."""
        return self._role is Role.ASSISTANT

    def flush(self) -> None:
        """Adds the message of the items collected so far, if any. `add` calls it when the role changes."""
        if self._role is not None and self._content:
            added = self._builder.add(self._role, self._content, self._id, self._timestamp)
            self.last_answer = added if self._role is Role.ASSISTANT else self.last_answer
        self._role, self._content, self._id = None, [], ""

    def add_message(self, item: JsonObject, timestamp: int = 0) -> str:
        """Adds a message item of the user or the system at once. Returns the message's id."""
        self.flush()
        role = Role.SYSTEM if item.get("role") in _SYSTEM_ROLES else Role.USER
        return self._builder.add(role, read_parts(item.get("content")), as_text(item.get("id")), timestamp)

    def _extend(self, role: Role, blocks: Iterable[Block], item: JsonObject, timestamp: int) -> None:
        if self._role is not role:
            self.flush()
            self._role, self._timestamp = role, timestamp
        self._content.extend(blocks)
        self._id = self._id or as_text(item.get("id"))


def _read_call(item: JsonObject) -> ToolUseBlock:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    return ToolUseBlock(
        id=as_text(item.get("call_id")) or as_text(item.get("id")),
        name=as_text(item.get("name")) or as_text(item.get("type")).removesuffix("_call"),
        input=read_arguments(arguments),
    )


def _read_output(item: JsonObject) -> ToolResultBlock:
    output = item.get("output", item.get("tools"))
    return ToolResultBlock(
        tool_use_id=as_text(item.get("call_id")) or as_text(item.get("id")), content=read_result(output)
    )


def read_result(output: Any) -> tuple[ResultPart, ...]:
    """Converts a tool's output: a text, parts, one part, or an object that has them under `content`."""
    one = as_object(output)
    if one.get("type") in ("input_text", "output_text", "input_image"):
        return read_parts([one])
    if isinstance(one.get("content"), str | list):
        return read_parts(one.get("content"))
    return read_parts(output)


def _read_image(item: JsonObject) -> list[Block]:
    """Returns a generated image: the item's other facts as a text block of JSON, and the image as an image block."""
    facts = {key: value for key, value in item.items() if key != "result"}
    data = as_text(item.get("result"))
    return [TextBlock(text=to_json(facts)), *([ImageBlock(data=data)] if data else [])]


def _read_reasoning(item: JsonObject) -> list[Block]:
    """Returns the readable text of a reasoning item as one thinking block; an empty list if it has none.

    The encrypted part is left out, because only OpenAI can read it.
    """
    parts = [*read_parts(item.get("summary")), *read_parts(item.get("content"))]
    text = join_texts(parts)
    return [ThinkingBlock(thinking=text)] if text else []
