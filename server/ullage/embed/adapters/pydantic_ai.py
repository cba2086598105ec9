"""A history processor for Pydantic AI (`pydantic-ai`).

    agent = Agent(model, capabilities=[ProcessHistory(history_processor(pool))])

Before each request the history is taken over, room is made if that is due, and what fits becomes the history. A
conversation of Pydantic AI is the conversation of the pool with the same id; the pool's store keeps every message.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import groupby
from operator import is_
from typing import Any

import msgspec

from ullage.embed.adapters.framework_messages import (
    Given,
    Mirror,
    Shown,
    chat_call,
    chat_usage,
    digest,
    own_id,
    text_of,
)
from ullage.embed.manager import ContextPool
from ullage.formats.parsing import to_json
from ullage.model.json_values import JsonObject, as_object, as_objects

_FRAMEWORK = "pydantic-ai"
# The time of summaries. They are recognized by it and their text when the history comes again.
_SUMMARY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def history_processor(pool: ContextPool) -> Callable[..., Any]:
    """Returns a history processor. Tool calls and other messages stay the objects that they were."""
    mirror = Mirror(_FRAMEWORK, id_of=_id_of)

    async def fit(ctx: Any, messages: list[Any]) -> list[Any]:
        pieces = _pieces(messages)
        given = [piece.given for piece in pieces]
        conversation_id = getattr(ctx, "conversation_id", None) or (given[0].id if given else "")
        shown = await pool.wait_for(conversation_id, partial(mirror.fit, given))
        return _as_messages(shown, pieces)

    fit.__annotations__["ctx"] = import_module("pydantic_ai").RunContext
    return fit


class _Piece:
    def __init__(self, given: Given, message: Any, part: Any) -> None:
        self.given = given
        self.message = message
        self.part = part


def _dumped(messages: Sequence[Any]) -> list[JsonObject]:
    return import_module("pydantic_ai.messages").ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")


def _pieces(messages: Sequence[Any]) -> list[_Piece]:
    """Takes the messages apart: requests into their parts, because some of them may be archived and others stay."""
    seen: Counter[str] = Counter()
    pieces: list[_Piece] = []
    for message, dumped in zip(messages, _dumped(messages), strict=True):
        if message.kind == "response":
            one = _unique(_response_id(dumped), seen)
            given = Given(id=one, raw=dumped, read=[_response_as_chat(dumped)], usage=_usage(dumped))
            pieces.append(_Piece(given, message, None))
            continue
        for part, raw in zip(message.parts, dumped["parts"], strict=True):
            one = _unique(_part_id(raw), seen)
            given = Given(id=one, raw={**dumped, "parts": [raw]}, read=[_part_as_chat(raw)])
            pieces.append(_Piece(given, message, part))
    return pieces


def _unique(one: str, seen: Counter[str]) -> str:
    seen[one] += 1
    return one if seen[one] == 1 else f"{one}-{seen[one]}"


def _part_id(raw: JsonObject) -> str:
    """Returns the id of a request's part, by its content only if nothing else tells it apart: edits change that."""
    kind, call, time = raw["part_kind"], raw.get("tool_call_id"), str(raw.get("timestamp"))
    is_exact = "." in time or (kind in ("tool-return", "retry-prompt") and raw.get("tool_name"))
    return digest([kind, call, time, None if is_exact else raw])


def _response_id(raw: JsonObject) -> str:
    """Returns an id of a response, by the same rule."""
    calls = [part.get("tool_call_id") for part in as_objects(raw["parts"])]
    is_exact = raw.get("provider_response_id") or any(calls) or "." in str(raw.get("timestamp"))
    return digest([raw.get("timestamp"), raw.get("provider_response_id"), calls, None if is_exact else raw["parts"]])


def _id_of(shown: Shown) -> str:
    if shown.raw is not None:
        return own_id(shown)
    return _part_id(_dumped([_summary(shown)])[0]["parts"][0])


def _part_as_chat(raw: JsonObject) -> JsonObject:
    """Returns a part of a request as a message of Chat Completions. Parts by which Pydantic AI itself keeps account are
    read as system prompts, because those are never archived."""
    content, kind = raw.get("content"), raw["part_kind"]
    text = content if isinstance(content, str) else to_json(content)
    if kind == "user-prompt":
        parts: Any = content if isinstance(content, str) else [_as_part(each) for each in content or ()]
        return {"role": "user", "content": parts}
    if kind in ("tool-return", "retry-prompt") and raw.get("tool_name"):
        return {"role": "tool", "tool_call_id": raw["tool_call_id"], "content": text}
    if kind in ("retry-prompt", "tool-return"):
        return {"role": "user", "content": text}
    return {"role": "system", "content": text if kind == "system-prompt" else to_json(raw)}


def _as_part(content: Any) -> JsonObject:
    known = as_object(content)
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if known.get("kind") == "image-url":
        return {"type": "image_url", "image_url": {"url": known["url"]}}
    if known.get("kind") == "binary" and str(known.get("media_type")).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{known['media_type']};base64,{known['data']}"}}
    return {"type": "text", "text": to_json(content)}


def _response_as_chat(raw: JsonObject) -> JsonObject:
    parts = as_objects(raw["parts"])
    content = [
        {"type": "text", "text": part["content"]}
        if part["part_kind"] == "text"
        else {**part, "type": part["part_kind"]}
        for part in parts
        if part["part_kind"] != "tool-call"
    ]
    calls = [
        chat_call(part["tool_call_id"], part["tool_name"], part.get("args"))
        for part in parts
        if part["part_kind"] == "tool-call"
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _usage(raw: JsonObject) -> JsonObject | None:
    usage = as_object(raw.get("usage"))
    prompt, cached = usage.get("input_tokens"), usage.get("cache_read_tokens", 0)
    return chat_usage(prompt, usage.get("output_tokens", 0), cached) if prompt else None


def _as_messages(shown: Sequence[Shown], pieces: Sequence[_Piece]) -> list[Any]:
    """Returns Pydantic AI's messages: each that is whole as the object that it was."""
    known = {piece.given.id: piece for piece in pieces}
    put = [_as_piece(one, known.get(_id_of(one))) for one in shown]
    messages: list[Any] = []
    for _, group in groupby(put, key=lambda piece: id(piece[0])):
        together = list(group)
        message = together[0][0]
        parts = [part for _, part in together if part is not None]
        is_whole = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
        messages.append(message if not parts or is_whole else replace(message, parts=parts))
    return messages


def _as_piece(shown: Shown, piece: _Piece | None) -> tuple[Any, Any]:
    """Returns a message, and if it is a request, the part of it that is sent."""
    library = import_module("pydantic_ai.messages")
    if shown.raw is None:
        message = _summary(shown)
        return message, message.parts[0]
    if piece is None:
        # The history has lost it: it comes from the store.
        (message,) = library.ModelMessagesTypeAdapter.validate_python([shown.raw])
        part = None if message.kind == "response" else message.parts[0]
    else:
        message, part = piece.message, piece.part
    if not shown.changed:
        return message, part
    if part is not None:
        return message, replace(part, content=text_of(shown.changed))
    return replace(message, parts=list(_changed_parts(message.parts, shown.changed, library))), None


def _summary(shown: Shown) -> Any:
    library = import_module("pydantic_ai.messages")
    return library.ModelRequest(parts=[library.UserPromptPart(content=text_of(shown.changed), timestamp=_SUMMARY_TIME)])


def _changed_parts(parts: Sequence[Any], changed: Sequence[JsonObject], library: Any) -> Iterator[Any]:
    """Yields the parts of a response that an edit has changed: its text, and its calls with their arguments."""
    text = text_of(changed)
    if text:
        yield library.TextPart(content=text)
    calls = {call["id"]: call for message in changed for call in as_objects(message.get("tool_calls"))}
    for part in parts:
        if part.part_kind == "tool-call" and part.tool_call_id in calls:
            arguments = calls[part.tool_call_id]["function"]["arguments"]
            yield part if _same_arguments(part.args, arguments) else replace(part, args=arguments)


def _same_arguments(one: Any, other: str) -> bool:
    return (msgspec.json.decode(one) if isinstance(one, str) and one else one or {}) == msgspec.json.decode(other)
