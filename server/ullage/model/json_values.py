"""Converts JSON values of unknown shape to expected types, and encodes and decodes JSON.

The functions `as_…` turn a wrong shape into an empty value and raise nothing; `decode_json` raises. Text with half
surrogate pairs, which clients do send and msgspec refuses, goes through the standard library's slower encoder and
decoder.
"""

import json
from typing import Any, TypeVar, cast

import msgspec

JsonObject = dict[str, Any]
T = TypeVar("T")
# Levels of objects and lists in one another. Deeper values come from an attack or a fault. Python's recursion ends at
# 1,000 calls, and a step through a value takes up to three.
MOST_LEVELS = 200


def encode_json(value: object) -> bytes:
    r"""Returns a struct or plain value as UTF-8 JSON. Half surrogate pairs in texts are written as `\u` escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()


def decode_json(data: bytes, kind: type[T]) -> T:
    """Returns the value of type `kind` in UTF-8 JSON. Raises `msgspec.DecodeError` if it has not this shape."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        return _decode_slowly(data, kind, error)


def as_plain(value: object) -> JsonObject:
    """Returns a struct as the JSON object that is sent of it."""
    return decode_json(encode_json(value), JsonObject)


def _decode_slowly(data: bytes, kind: type[T], error: msgspec.DecodeError) -> T:
    try:
        return msgspec.convert(json.loads(data), kind)
    except ValueError:
        raise error from None


def is_too_deep(value: object) -> bool:
    """Returns whether the value has more than `MOST_LEVELS` levels of objects and lists in one another."""
    return any(map(_containers, _deepest(value)))


def flatten_depths(value: object) -> None:
    """Replaces, in the value itself, each object or list below `MOST_LEVELS` levels by a text: its JSON."""
    for container in _deepest(value):
        places: list[tuple[Any, Any]] = [*container.items()] if isinstance(container, dict) else [*enumerate(container)]
        for place, inner in places:
            if isinstance(inner, dict | list):
                container[place] = _json_text(cast("Any", inner))


def _deepest(value: object) -> list["dict[Any, Any] | list[Any]"]:
    """Returns the objects and lists of the last level that is allowed."""
    level = _containers([value])
    for _ in range(MOST_LEVELS - 1):
        if not level:
            break
        level = [inner for outer in level for inner in _containers(outer)]
    return level


def _containers(outer: Any) -> list[Any]:
    values: list[Any] = [*outer.values()] if isinstance(outer, dict) else outer
    return [inner for inner in values if isinstance(inner, dict | list)]


def _json_text(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, UnicodeEncodeError):
        return "[nested too deeply]"


def as_object(value: Any) -> JsonObject:
    """Returns the value if it is a dict, otherwise an empty dict."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns the value if it is a list, otherwise an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: Any) -> list[JsonObject]:
    """Returns the items of a list that are dicts; [] if the value is no list."""
    return [cast("JsonObject", item) for item in as_list(value) if isinstance(item, dict)]


def as_text(value: Any) -> str:
    """Returns the value if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""
