"""The three message formats in which programs talk to models, each with its reader and its writer."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from ullage.formats.requests.anthropic import write_anthropic
from ullage.formats.requests.openai import write_openai
from ullage.formats.requests.responses import write_responses
from ullage.formats.transcripts import anthropic_messages
from ullage.formats.transcripts.anthropic_blocks import read_tools
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader, read_functions
from ullage.formats.transcripts.items import ItemReader
from ullage.model.errors import InvalidRequest
from ullage.model.events import Event, MessageAppended
from ullage.model.message import Message, ToolDefinition


class Provider(StrEnum):
    """A message format: Anthropic's Messages API, OpenAI's Chat Completions or OpenAI's Responses."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"

    @classmethod
    def _missing_(cls, value: object) -> "Provider":
        raise InvalidRequest(f"no provider {value!r}; there are {', '.join(cls)}")


def read_events(
    provider: Provider, messages: Sequence[Any], new_id: Callable[[], str] | None = None
) -> tuple[Event, ...]:
    """Converts a program's own messages into events, with the provider's usage if a message contains it.

    `new_id` makes the ids of messages that have none; by default they are numbered. Raises `InvalidRequest` if an
    element is not a message in this provider's format.
    """
    builder = TranscriptBuilder(provider.value, "messages", new_id)
    match provider:
        case Provider.ANTHROPIC:
            anthropic_messages.add_all(builder, messages)
        case Provider.OPENAI:
            ChatReader(builder).add_all(messages)
        case Provider.OPENAI_RESPONSES:
            ItemReader(builder).add_all(messages)
    if builder.skipped:
        raise InvalidRequest(f"not in the format of {provider.value}: {builder.skipped[0].reason}")
    return builder.events


def read_messages(provider: Provider | str, messages: Sequence[Any]) -> tuple[Message, ...]:
    """Converts a program's own messages into Ullage's, with numbered ids where a message has none.

    Raises `InvalidRequest` for an unknown provider, or if an element is not a message in this provider's format.
    """
    events = read_events(Provider(provider), messages)
    return tuple(event.message for event in events if isinstance(event, MessageAppended))


def read_definitions(provider: Provider, tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools` into tool definitions. Entries without a name are left out."""
    return read_tools(tools) if provider is Provider.ANTHROPIC else read_functions(tools)


def write_request(
    provider: Provider | str, messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Returns the fields of a provider's request that the conversation determines.

    Raises `InvalidRequest` for an unknown provider.
    """
    match Provider(provider):
        case Provider.ANTHROPIC:
            return msgspec.to_builtins(write_anthropic(messages, tools))
        case Provider.OPENAI:
            return msgspec.to_builtins(write_openai(messages, tools))
        case Provider.OPENAI_RESPONSES:
            return msgspec.to_builtins(write_responses(messages, tools))
