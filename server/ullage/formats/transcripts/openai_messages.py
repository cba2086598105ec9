"""Reads OpenAI's message lists: chat messages, or items of the Responses API; bare, or in a request object."""

from typing import Any

from ullage.formats import verbatim
from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_functions
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.formats.transcripts.response_items import ITEM_TYPES, ItemReader
from ullage.model.blocks import TextBlock
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role

NAME = "openai-messages"
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


def matches(document: Document) -> bool:
    """Returns whether the file is a list of OpenAI's chat messages or Responses items, or an object with one under
    `messages` or `input`.

    A list of plain texts could be OpenAI's or Anthropic's. It is read as OpenAI's, with the same result.
    """
    messages = _messages(document.value)
    return bool(messages) and all(_is_message(message) for message in messages)


def read(document: Document) -> ImportedTranscript:
    """Reads a list of messages or items, or a request object: its model, tools, instructions and messages. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder(NAME, document.name)
    request = as_object(document.value)
    builder.use_model(as_text(request.get("model")))
    builder.declare(read_functions(request.get("tools")))
    instructions = as_text(request.get("instructions"))
    if instructions:
        builder.add(Role.SYSTEM, (TextBlock(text=instructions),))
    messages = _messages(document.value)
    if any(as_text(message.get("type")) in ITEM_TYPES for message in messages):
        ItemReader(builder).add_all(messages)
    else:
        verbatim.add_all(builder, verbatim.CHAT, messages)
    return builder.finish()


def _messages(value: Any) -> list[JsonObject]:
    if isinstance(value, list):
        return as_objects(value)
    request = as_object(value)
    if isinstance(request.get("input"), str):
        return [{"role": "user", "content": request["input"]}]
    return as_objects(request.get("messages")) or as_objects(request.get("input"))


def _is_message(message: JsonObject) -> bool:
    return as_text(message.get("role")) in _ROLES or as_text(message.get("type")) in ITEM_TYPES


FORMAT = Format(name=NAME, matches=matches, read=read)
