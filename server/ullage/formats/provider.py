"""The three message formats in which programs talk to models, each with its reader and its writer."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from ullage.formats.message_checks import check_message
from ullage.formats.requests import anthropic, openai, responses
from ullage.formats.transcripts import anthropic_messages
from ullage.formats.transcripts.anthropic_blocks import read_tools
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader, read_functions
from ullage.formats.transcripts.response_items import ItemReader
from ullage.model.errors import InvalidRequest
from ullage.model.events import ConversationImported, Event, MessageAppended
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
    provider: Provider, messages: Sequence[Any], new_id: Callable[[], str] | None = None, place: str = ""
) -> tuple[Event, ...]:
    """Converts a program's own messages into events of a log, with the provider's usage if a message contains it.

    `new_id` makes the ids of messages that have none; by default they are numbered. Raises `InvalidRequest` if an
    element is not a message in this provider's format; the error calls it `place`, by default by its number.
    """
    builder = TranscriptBuilder(provider.value, "messages", new_id)
    if provider is not Provider.OPENAI_RESPONSES:
        for at, message in enumerate(messages):
            check_message(place or f"message {at + 1}", message)
    match provider:
        case Provider.ANTHROPIC:
            anthropic_messages.add_all(builder, messages)
        case Provider.OPENAI:
            ChatReader(builder, provided=True).add_all(messages)
        case Provider.OPENAI_RESPONSES:
            ItemReader(builder).add_all(messages)
    if builder.skipped:
        raise InvalidRequest(f"not in the format of {provider.value}: {builder.skipped[0].reason}")
    # The conversation is the program's own: nothing is imported.
    return tuple(event for event in builder.events if not isinstance(event, ConversationImported))


def read_messages(provider: Provider | str, messages: Sequence[Any], place: str = "") -> tuple[Message, ...]:
    """Converts a program's own messages into Ullage's, with numbered ids where a message has none.

    Raises `InvalidRequest` for an unknown provider, or if an element is not a message in this provider's format; the
    error calls it `place`, by default by its number.
    """
    events = read_events(Provider(provider), messages, place=place)
    return tuple(event.message for event in events if isinstance(event, MessageAppended))


def write_messages(provider: Provider, message: Message) -> list[dict[str, Any]]:
    """Returns one message in the provider's format. A message that was read in this format is written as it came in. A
    message may become several: OpenAI has one message per tool result, and the Responses API one item per part."""
    match provider:
        case Provider.ANTHROPIC:
            return anthropic.write_messages(message)
        case Provider.OPENAI:
            return openai.write_messages(message)
        case Provider.OPENAI_RESPONSES:
            return responses.write_messages(message)


def read_definitions(provider: Provider, tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools` into tool definitions. Entries without a name are left out."""
    return read_tools(tools) if provider is Provider.ANTHROPIC else read_functions(tools)


def write_request(
    provider: Provider | str, messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Returns the fields of a provider's request that follow from the conversation: its messages, the system prompt and
    the tools, in the provider's format.

    Raises `InvalidRequest` for an unknown provider.
    """
    match Provider(provider):
        case Provider.ANTHROPIC:
            return msgspec.to_builtins(anthropic.write_anthropic(messages, tools))
        case Provider.OPENAI:
            return msgspec.to_builtins(openai.write_openai(messages, tools))
        case Provider.OPENAI_RESPONSES:
            return msgspec.to_builtins(responses.write_responses(messages, tools))
