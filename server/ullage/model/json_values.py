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


def encode_json(value: object) -> bytes:
    r"""Returns a struct or plain value as UTF-8 JSON. Half surrogate pairs in texts are written as `\u` escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()


def decode_json(data: bytes, kind: type[T]) -> T:
    """Returns the value of type `kind` that `data`, UTF-8 JSON, holds. Raises `msgspec.DecodeError` if `data` is not
    JSON or has not the shape of `kind`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        return _decode_slowly(data, kind, error)


def _decode_slowly(data: bytes, kind: type[T], error: msgspec.DecodeError) -> T:
    try:
        return msgspec.convert(json.loads(data), kind)
    except ValueError:
        raise error from None


def as_object(value: Any) -> JsonObject:
    """Returns the value if it is a dict, otherwise an empty dict."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns the value if it is a list, otherwise an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: Any) -> list[JsonObject]:
    """Returns the items of a list that are dicts. Other items are left out; a value that is not a list gives an empty
    list."""
    return [cast("JsonObject", item) for item in as_list(value) if isinstance(item, dict)]


def as_text(value: Any) -> str:
    """Returns the value if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""
