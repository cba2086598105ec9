"""Reads plain lists of provider messages.

- Anthropic's Messages API: bare, or in a request object `{system, messages, tools, model}`.
- OpenAI's chat messages, or items of the Responses API: bare, or in a request object.
- LiteLLM's request logs, as OpenHands keeps them: `{messages, tools, kwargs, response, raw_messages?, …}`. If
  `raw_messages` is there, the model has no function calling. Then the text of `messages`, which were sent, describes
  the tools, and the calls in `response` were parsed from the answer's text, which `raw_response` contains.
"""

from typing import Any

from ullage.formats import verbatim
from ullage.formats.parsing import Document, as_timestamp
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.anthropic_blocks import read_blocks, read_tools
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader, read_functions
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.response_items import ITEM_TYPES, ItemReader
from ullage.model.blocks import TextBlock
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role

# Types of blocks that only Anthropic's API has.
_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}


def _is_anthropic(document: Document) -> bool:
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


def _read_anthropic(document: Document) -> ImportedTranscript:
    """Reads a list of messages, or a request object: its tools, system prompt and messages, and the usage of answers
    that include it. Raises `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder("anthropic-messages", document.name)
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


ANTHROPIC_MESSAGES = Format(name="anthropic-messages", matches=_is_anthropic, read=_read_anthropic)


_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


def _is_openai(document: Document) -> bool:
    """Returns whether the file is a list of OpenAI's chat messages or Responses items, or an object with one under
    `messages` or `input`.

    A list of plain texts could be OpenAI's or Anthropic's. It is read as OpenAI's, with the same result.
    """
    messages = _openai_messages(document.value)
    return bool(messages) and all(_is_message(message) for message in messages)


def _read_openai(document: Document) -> ImportedTranscript:
    """Reads a list of messages or items, or a request object: its model, tools, instructions and messages. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder("openai-messages", document.name)
    request = as_object(document.value)
    builder.use_model(as_text(request.get("model")))
    builder.declare(read_functions(request.get("tools")))
    instructions = as_text(request.get("instructions"))
    if instructions:
        builder.add(Role.SYSTEM, (TextBlock(text=instructions),))
    messages = _openai_messages(document.value)
    if any(as_text(message.get("type")) in ITEM_TYPES for message in messages):
        ItemReader(builder).add_all(messages)
    else:
        verbatim.add_all(builder, verbatim.CHAT, messages)
    return builder.finish()


def _openai_messages(value: Any) -> list[JsonObject]:
    if isinstance(value, list):
        return as_objects(value)
    request = as_object(value)
    if isinstance(request.get("input"), str):
        return [{"role": "user", "content": request["input"]}]
    return as_objects(request.get("messages")) or as_objects(request.get("input"))


def _is_message(message: JsonObject) -> bool:
    return as_text(message.get("role")) in _ROLES or as_text(message.get("type")) in ITEM_TYPES


OPENAI_MESSAGES = Format(name="openai-messages", matches=_is_openai, read=_read_openai)


def _is_litellm(document: Document) -> bool:
    """Returns whether the file is one object with the messages of a request and the choices of its response."""
    log = as_object(document.value)
    return bool(as_list(log.get("messages"))) and isinstance(as_object(log.get("response")).get("choices"), list)


def _read_litellm(document: Document) -> ImportedTranscript:
    """Reads one logged request: its model, tools and messages, then the answer and its usage. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder("litellm-log", document.name)
    log = as_object(document.value)
    response = as_object(log.get("response"))
    builder.use_model(as_text(response.get("model")))
    tools_in_text = bool(as_list(log.get("raw_messages")))
    if not tools_in_text:
        builder.declare(read_functions(log.get("tools")))
    reader = ChatReader(builder)
    reader.add_all(as_list(log.get("messages")))
    answer = _answer(response)
    raw = _answer(as_object(log.get("raw_response")))
    # If the model made native calls nevertheless, the raw answer has no text, so the parsed answer is used.
    if tools_in_text and raw and not raw.get("tool_calls"):
        answer = raw
    if answer:
        timestamp = as_timestamp(log.get("timestamp"))
        message_id = reader.add({**answer, "role": "assistant"}, timestamp)
        builder.report(convert_usage(as_object(response.get("usage"))), message_id)
    return builder.finish()


def _answer(response: JsonObject) -> JsonObject:
    choices = as_objects(response.get("choices"))
    return as_object(choices[0].get("message")) if choices else {}


LITELLM_LOG = Format(name="litellm-log", matches=_is_litellm, read=_read_litellm)
