"""Reads message lists of Anthropic's Messages API, bare or in a request object `{system, messages, tools, model}`."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ullage.formats.parsing import Document
from ullage.formats.provided import keep_provided
from ullage.formats.provider_usage import convert_usage
from ullage.formats.requests.anthropic import FORMAT as FORMAT_NAME
from ullage.formats.requests.anthropic import write_own_fields
from ullage.formats.transcripts.anthropic_blocks import read_blocks, read_tools
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import Block, CompactionBlock, ResultPart, ToolResultBlock
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role

NAME = "anthropic-messages"
# Types of blocks that only Anthropic's API has.
_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}


def matches(document: Document) -> bool:
    """Returns whether the file is a list of messages, or a request object with one, that only Anthropic's API could
    have."""
    request = as_object(document.value)
    messages = _messages(document.value)
    if not messages or not all(message.get("role") in tuple(Role) for message in messages):
        return False
    own_fields = "system" in request or any("input_schema" in tool for tool in as_objects(request.get("tools")))
    return own_fields or any(
        as_text(block.get("type")) in _OWN_BLOCKS
        for message in messages
        for block in as_objects(message.get("content"))
    )


def read(document: Document) -> ImportedTranscript:
    """Reads a list of messages, or a request object: its tools, system prompt and messages, and the usage of answers
    that include it. Raises `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder(NAME, document.name)
    request = as_object(document.value)
    builder.use_model(as_text(request.get("model")))
    builder.declare(read_tools(request.get("tools")))
    system = read_blocks(request.get("system"))
    if system:
        builder.add(Role.SYSTEM, system)
    add_all(builder, _raw_messages(document.value))
    return builder.finish()


def add_all(builder: TranscriptBuilder, messages: Iterable[Any]) -> None:
    """Adds each message to the builder. A message without a known role is recorded as skipped, by its number from 1."""
    for index, item in enumerate(messages, start=1):
        message = as_object(item)
        role = as_text(message.get("role"))
        if role not in tuple(Role):
            builder.skip(index, f"message {index} has no known role: {message.get('role')!r}", expected=False)
            continue
        message_id = builder.add(Role(role), _read_content(message.get("content")), as_text(message.get("id")))
        builder.report(convert_usage(as_object(message.get("usage"))), message_id)


def _read_content(content: Any) -> list[Block]:
    """Returns the blocks of a message, each with the fields of the API that Ullage's block lacks."""
    raw = as_list(content)
    return [_keep(block, as_object(raw[at])) if raw else block for at, block in enumerate(read_blocks(content))]


def _keep(block: Block, raw: JsonObject) -> Block:
    if not raw or isinstance(block, CompactionBlock):
        return block
    parts = as_list(raw.get("content"))
    if isinstance(block, ToolResultBlock) and parts:
        content = tuple(_keep_part(part, as_object(parts[at])) for at, part in enumerate(block.content))
        block = replace(block, content=content)
    return keep_provided(block, raw, FORMAT_NAME, write_own_fields)


def _keep_part(part: ResultPart, raw: JsonObject) -> ResultPart:
    return keep_provided(part, raw, FORMAT_NAME, write_own_fields) if raw else part


def _raw_messages(value: Any) -> list[Any]:
    return as_list(value) or as_list(as_object(value).get("messages"))


def _messages(value: Any) -> list[JsonObject]:
    return as_objects(_raw_messages(value))


FORMAT = Format(name=NAME, matches=matches, read=read)
