"""Reads trae-agent's trajectories: `{task, provider, model, llm_interactions, agent_steps, …}`.

Each interaction contains the messages that are new in its request, and the response. `agent_steps` repeats them and is
ignored. Of the offered tools only the names are recorded, so no tools are declared.
"""

from typing import Any

from ullage.formats.parsing import Document, as_count, as_timestamp
from ullage.formats.provider_usage import convert_usage, exclude_cache
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments, read_parts
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role
from ullage.model.usage import Usage

NAME = "trae"
# Providers whose `input_tokens` exclude the cache. trae-agent's other clients use OpenAI's protocol, which includes it.
_CACHE_EXCLUDED = {"anthropic"}


def matches(document: Document) -> bool:
    """Returns whether the file is one object with `llm_interactions`."""
    return isinstance(as_object(document.value).get("llm_interactions"), list)


def read(document: Document) -> ImportedTranscript:
    """Reads all interactions: the new messages of each request, then its response and usage. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder(NAME, document.name)
    trajectory = as_object(document.value)
    builder.title = as_text(trajectory.get("task")).strip().partition("\n")[0][:200]
    builder.use_model(as_text(trajectory.get("model")))
    for index, item in enumerate(as_list(trajectory.get("llm_interactions")), start=1):
        interaction = as_object(item)
        if not isinstance(interaction.get("response"), dict):
            builder.skip(index, f"interaction {index} has no response", expected=False)
        _read_request(builder, index, interaction)
        _read_response(builder, interaction)
    return builder.finish()


def _read_request(builder: TranscriptBuilder, index: int, interaction: JsonObject) -> None:
    for item in as_list(interaction.get("input_messages")):
        message = as_object(item)
        role = as_text(message.get("role"))
        if role not in tuple(Role):
            builder.skip(index, f"interaction {index} holds a message of unknown role {role!r}", expected=False)
            continue
        builder.add(Role(role), _read_content(message), timestamp=as_timestamp(interaction.get("timestamp")))


def _read_content(message: JsonObject) -> list[Block]:
    blocks: list[Block] = [*read_parts(message.get("content"))]
    result = as_object(message.get("tool_result"))
    if result:
        blocks.insert(0, _read_result(result))
    call = as_object(message.get("tool_call"))
    if call:
        blocks.append(_read_call(call))
    return blocks


def _read_result(result: JsonObject) -> ToolResultBlock:
    """Returns a tool result with its output and then its error, as trae-agent sends them to the model."""
    error = as_text(result.get("error"))
    texts = [_as_text(result.get("result")), f"Error: {error}" if error else ""]
    text = "\n".join(part for part in texts if part)
    return ToolResultBlock(
        tool_use_id=as_text(result.get("call_id")),
        content=(TextBlock(text=text),) if text else (),
        is_error=result.get("success") is False,
    )


def _as_text(value: Any) -> str:
    return join_texts(read_parts(value))


def _read_response(builder: TranscriptBuilder, interaction: JsonObject) -> None:
    response = as_object(interaction.get("response"))
    calls = [_read_call(call) for call in as_objects(response.get("tool_calls"))]
    content: list[Block] = [*read_parts(response.get("content")), *calls]
    if not content:
        return
    builder.use_model(as_text(interaction.get("model")))
    message_id = builder.add(Role.ASSISTANT, content, timestamp=as_timestamp(interaction.get("timestamp")))
    usage = as_object(response.get("usage"))
    builder.report(_convert(usage, as_text(interaction.get("provider"))), message_id)


def _read_call(call: JsonObject) -> ToolUseBlock:
    return ToolUseBlock(
        id=as_text(call.get("call_id")), name=as_text(call.get("name")), input=read_arguments(call.get("arguments"))
    )


def _convert(usage: JsonObject, provider: str) -> Usage:
    if provider in _CACHE_EXCLUDED:
        return convert_usage(usage)
    return exclude_cache(
        as_count(usage.get("input_tokens")),
        as_count(usage.get("output_tokens")),
        as_count(usage.get("cache_read_input_tokens")),
        as_count(usage.get("cache_creation_input_tokens")),
    )


FORMAT = Format(name=NAME, matches=matches, read=read)
