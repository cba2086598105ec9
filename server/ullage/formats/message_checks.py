"""Which provider's message a program has given, and whether it is one at all."""

from collections.abc import Iterable
from typing import Any, cast

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects

_CHAT_ROLES = ("developer", "tool", "function")
_CHAT_FIELDS = ("tool_calls", "function_call", "refusal", "audio", "tool_call_id")
_CHAT_PARTS = ("image_url", "input_audio", "file", "refusal")
# An answer of OpenAI's may have any of these in place of a content.
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
# Fields without which a block says nothing. Kinds that are not listed are the provider's own affair.
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
}


def is_chat(messages: Iterable[Any]) -> bool:
    """Returns whether any of the messages can only be one of OpenAI's chat API, by its role, fields or content.
    Messages with plain text alone are valid in Anthropic's API, too."""
    return any(_is_chat(as_object(message)) for message in messages)


def is_anthropic(messages: Iterable[Any]) -> bool:
    """Returns whether any of the messages holds content blocks that only Anthropic's API has."""
    parts = (part for message in messages for part in as_objects(as_object(message).get("content")))
    return any(part.get("type") not in ("text", *_CHAT_PARTS) for part in parts)


def _is_chat(message: JsonObject) -> bool:
    return (
        message.get("role") in _CHAT_ROLES
        or any(message.get(name) is not None for name in _CHAT_FIELDS)
        or ("content" in message and message["content"] is None)
        or any(part.get("type") in _CHAT_PARTS for part in as_objects(message.get("content")))
    )


def check_message(name: str, message: Any) -> None:
    """Raises `InvalidRequest` if a message is not an object, if its content is neither text nor a list of valid content
    blocks, or if its `tool_calls` are not a list of objects.

    The content may be missing only if there is another field in its place, such as `tool_calls`. `name` is what the
    error calls the message. A message without a role is not checked further.
    """
    if not isinstance(message, dict):
        raise InvalidRequest(f"{name} is {show(message)}; a message is an object with `role` and `content`")
    given = as_object(cast("Any", message))
    content = given.get("content")
    if not isinstance(given.get("role"), str):
        return
    if content is None:
        # Some servers give an answer that says nothing, and a function may return nothing.
        if given["role"] not in ("assistant", "function") and not any(
            given.get(field) for field in _INSTEAD_OF_CONTENT
        ):
            raise InvalidRequest(f"{name} has no `content`; give text or a list of content blocks")
    elif isinstance(content, list):
        for at, part in enumerate(as_list(content)):
            _check_part(f"{name}, content[{at}]", part)
    elif not isinstance(content, str):
        raise InvalidRequest(f"{name}: `content` is {show(content)}; it must be text or a list of content blocks")
    calls = given.get("tool_calls")
    if calls is not None and len(as_objects(calls)) != len(as_list(calls)):
        raise InvalidRequest(f"{name}: `tool_calls` is {show(calls)}; it must be a list of calls")


def _check_part(name: str, part: Any) -> None:
    if isinstance(part, str):
        return
    block = as_object(part)
    kind = block.get("type")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{name} is {show(part)}; a content block is an object with a `type`")
    for field, expected in _REQUIRED.get(kind, {}).items():
        if not isinstance(block.get(field), expected):
            raise InvalidRequest(f"{name}: a {kind} block needs `{field}`; it is {show(block.get(field))}")
    if kind == "tool_result" and not isinstance(block.get("content"), str | list | None):
        raise InvalidRequest(
            f"{name}: `content` is {show(block['content'])}; it must be text or a list of content blocks"
        )


def show(value: Any) -> str:
    """Returns a wrong value as an error quotes it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


# Characters of a wrong value that an error quotes.
_SHOWN = 60
