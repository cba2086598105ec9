"""Frames as the proxy sees them: peeked at, and written anew only where something in them must change."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ullage.jsonrpc.envelope import ErrorResponse, Notification, Request, RequestId, Response
from ullage.model.json_values import as_object, decode_json, encode_json

_NOTHING = Raw(b"")


class Frame(Struct, frozen=True):
    """The outside of a JSON-RPC message; what is inside stays as it came until somebody asks."""

    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


_frame = msgspec.json.Decoder(Frame)
_raw_fields = msgspec.json.Decoder(dict[str, Raw])


def peek(line: bytes) -> Frame | None:
    """The frame of a line; None for what is none, which is nobody's business here."""
    try:
        return _frame.decode(line)
    except (ValueError, RecursionError):
        return None


def fields(raw: Raw) -> dict[str, Any]:
    """An object's fields; none for what is no object."""
    try:
        return as_object(decode_json(bytes(raw), dict))
    except (ValueError, RecursionError):
        return {}


def with_params(line: bytes, changes: dict[str, Any]) -> bytes:
    """The line with some of its params set otherwise; every other value keeps the bytes it had."""
    whole = _raw_fields.decode(line)
    params = _raw_fields.decode(whole["params"])
    params |= {name: Raw(encode_json(value)) for name, value in changes.items()}
    whole["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(whole) + b"\n"


def line(message: Request | Notification | Response | ErrorResponse) -> bytes:
    """A message of the proxy's own."""
    return encode_json(message) + b"\n"
