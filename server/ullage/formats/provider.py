"""The three message formats in which programs talk to models, each with its reader and its writer."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage.formats import verbatim
from ullage.formats.requests import writers
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_functions, read_tools
from ullage.formats.verbatim import check_message, show
from ullage.model.errors import InvalidRequest
from ullage.model.events import ConversationImported, Event, MessageAppended
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Message, Provided, ToolDefinition


class Provider(StrEnum):
    """A message format: Anthropic's Messages API, OpenAI's Chat Completions or OpenAI's Responses."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"

    @classmethod
    def _missing_(cls, value: object) -> "Provider":
        raise InvalidRequest(f"no provider {value!r}; there are {', '.join(cls)}")


# The field of a request that has its messages.
MESSAGES = {Provider.ANTHROPIC: "messages", Provider.OPENAI: "messages", Provider.OPENAI_RESPONSES: "input"}
# What a message of a format, or an item, is named by.
_NAMED = {
    Provider.ANTHROPIC: ("user", "assistant", "system"),
    Provider.OPENAI: ("system", "developer", "user", "assistant", "tool", "function"),
    Provider.OPENAI_RESPONSES: ("message", "function_call", "function_call_output", "and other types of items"),
}
# The end of the types of Anthropic's own tools: the day on which they were published.
_DATED = re.compile(r"_\d{8}$")


def read_events(
    provider: Provider, messages: Sequence[Any], new_id: Callable[[], str] | None = None, place: str = ""
) -> tuple[Event, ...]:
    """Converts a program's own messages into events of a log, with the provider's usage if a message contains it.

    `new_id` makes the ids of messages that have none; by default they are numbered. Raises `InvalidRequest` if an
    element is not a message in this provider's format; the error calls it `place`, by default by its number.
    """
    builder = TranscriptBuilder(provider.value, "messages", new_id)
    for at, message in enumerate(messages):
        _check(provider, place or f"message {at + 1}", message)
    verbatim.add_all(builder, provider.value, messages)
    if builder.skipped:
        skipped = builder.skipped[0]
        other = verbatim.other_format(provider.value, as_object(messages[skipped.line - 1]))
        remedy = f"give `provider={other!r}`" if other else f"there are {', '.join(_NAMED[provider])}"
        raise InvalidRequest(f"not in the format of {provider.value}: {skipped.reason}; {remedy}")
    # The conversation is the program's own: nothing is imported.
    return tuple(event for event in builder.events if not isinstance(event, ConversationImported))


def _check(provider: Provider, place: str, message: Any) -> None:
    given = as_object(message)
    if verbatim.is_piece(given):
        raise InvalidRequest(f"{place} is a piece of a stream; give the whole answer when the stream has ended")
    if provider is Provider.OPENAI_RESPONSES:
        if not isinstance(message, dict):
            raise InvalidRequest(f"{place} is {show(message)}; an item is an object with a `type` or a `role`")
    elif "role" in given or not ("choices" in given or "message" in given):
        check_message(place, message)


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
    given = verbatim.given_form(provider.value, message)
    return writers.write_messages(provider.value, message) if given is None else given


def read_definitions(provider: Provider | None, tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools` into tool definitions, which keep what the program gave. A tool without a name,
    which the provider runs itself, is named by its type. Without `provider`, each tool's fields show its format. Raises
    `InvalidRequest` if one is not an object, or its name is not a text."""
    return tuple(_definition(provider, at, tool) for at, tool in enumerate(tools))


def _definition(provider: Provider | None, at: int, tool: Any) -> ToolDefinition:
    given = as_object(tool)
    if not given:
        form = f" in the format of {provider.value}" if provider else ""
        raise InvalidRequest(f"tools[{at}] is {show(tool)}; a tool is an object{form}")
    for named in (given, as_object(given.get("function")), as_object(given.get("custom"))):
        if not isinstance(name := named.get("name", ""), str):
            raise InvalidRequest(f"tools[{at}] has the name {show(name)}; a name is a text")
    provider = provider or _tool_format(given)
    read = (read_tools if provider is Provider.ANTHROPIC else read_functions)([given])
    plain = read[0] if read else ToolDefinition(name=as_text(given.get("type")) or "tool")
    return replace(plain, provided=Provided(format=provider.value, fields=given, whole=True))


def _tool_format(tool: JsonObject) -> Provider:
    kind = as_text(tool.get("type"))
    if isinstance(tool.get("function") or tool.get("custom"), dict):
        return Provider.OPENAI
    if "input_schema" in tool or _DATED.search(kind) or kind == "mcp_toolset":
        return Provider.ANTHROPIC
    return Provider.OPENAI_RESPONSES if kind or "parameters" in tool else Provider.ANTHROPIC


def write_request(
    provider: Provider | str, messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Returns the fields of a provider's request that follow from the conversation: its messages, and the system prompt
    and the tools if there are any, in the provider's format.

    Raises `InvalidRequest` for an unknown provider.
    """
    match provider := Provider(provider):
        case Provider.ANTHROPIC:
            request = writers.write_anthropic(messages, tools, as_given=True)
        case Provider.OPENAI:
            request = writers.write_openai(messages, tools, as_given=True)
        case Provider.OPENAI_RESPONSES:
            request = writers.write_responses(messages, tools, as_given=True)
    # Providers refuse an empty list of tools and a null system prompt.
    return {key: value for key, value in msgspec.to_builtins(request).items() if value or key == MESSAGES[provider]}
