"""Reads JSON-RPC lines: the envelope first, the content only if needed. A line is encoded again only to change it."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ullage.jsonrpc.envelope import ErrorResponse, Notification, Request, RequestId, Response
from ullage.model.json_values import as_object, decode_json, encode_json

_NOTHING = Raw(b"")


class Frame(Struct, frozen=True):
    """The envelope of a JSON-RPC message. `params`, `result` and `error` are undecoded JSON, empty if absent."""

    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


_frame = msgspec.json.Decoder(Frame)
_raw_fields = msgspec.json.Decoder(dict[str, Raw])


def peek(line: bytes) -> Frame | None:
    """Returns the JSON-RPC envelope of a line, or None if the line isn't a JSON-RPC message. Such a line is forwarded
    unread."""
    try:
        return _frame.decode(line)
    except (ValueError, RecursionError):
        return None


def fields(raw: Raw) -> dict[str, Any]:
    """Returns undecoded JSON as a dict. Returns an empty dict if it is not an object, or is nested too deeply."""
    try:
        return as_object(decode_json(bytes(raw), dict))
    except (ValueError, RecursionError):
        return {}


def with_params(line: bytes, changes: dict[str, Any]) -> bytes:
    """Returns the line, which must have an object as params, with the params in `changes` replaced. All other values
    keep their bytes. The result ends with a line feed."""
    whole = _raw_fields.decode(line)
    params = _raw_fields.decode(whole["params"])
    params |= {name: Raw(encode_json(value)) for name, value in changes.items()}
    whole["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(whole) + b"\n"


def with_method(line: bytes, method: str) -> bytes:
    """Returns the line, which must be an object, with this method. All other values keep their bytes."""
    return msgspec.json.encode(_raw_fields.decode(line) | {"method": Raw(encode_json(method))}) + b"\n"


def unwrapped(line: bytes) -> bytes:
    """Returns the message in the params of a line, which has its method and its params there, with the id of the line.
    Both keep their bytes."""
    whole = _raw_fields.decode(line)
    inner = _raw_fields.decode(whole["params"])
    named = {name: inner[name] for name in ("method", "params") if name in inner}
    return msgspec.json.encode({**{name: whole[name] for name in ("jsonrpc", "id") if name in whole}, **named}) + b"\n"


def with_id(line: bytes, request_id: RequestId | None) -> bytes:
    """Returns the line, which must be an object, with this id. All other values keep their bytes. The result ends with
    a line feed."""
    whole = _raw_fields.decode(line)
    whole["id"] = Raw(encode_json(request_id))
    return msgspec.json.encode(whole) + b"\n"


def with_result(line: bytes, changes: dict[str, Raw]) -> bytes:
    """Returns the line, which must have an object as result, with the fields in `changes` replaced. All other values
    keep their bytes. The line ends with a line feed."""
    whole = _raw_fields.decode(line)
    whole["result"] = Raw(msgspec.json.encode(_raw_fields.decode(whole["result"]) | changes))
    return msgspec.json.encode(whole) + b"\n"


def line(message: Request | Notification | Response | ErrorResponse) -> bytes:
    """Returns a message of the proxy's own as a line of JSON with a line feed."""
    return encode_json(message) + b"\n"
