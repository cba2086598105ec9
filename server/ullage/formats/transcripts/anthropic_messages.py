"""Reads message lists of Anthropic's Messages API, bare or in a request object `{system, messages, tools, model}`."""

from typing import Any

from ullage.formats import verbatim
from ullage.formats.parsing import Document
from ullage.formats.transcripts.anthropic_blocks import read_blocks, read_tools
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
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
    verbatim.add_all(builder, verbatim.ANTHROPIC, _raw_messages(document.value))
    return builder.finish()


def _raw_messages(value: Any) -> list[Any]:
    return as_list(value) or as_list(as_object(value).get("messages"))


def _messages(value: Any) -> list[JsonObject]:
    return as_objects(_raw_messages(value))


FORMAT = Format(name=NAME, matches=matches, read=read)
