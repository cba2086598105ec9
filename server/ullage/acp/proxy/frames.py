"""Frames as the proxy sees them: peeked at, and written anew only where something in them must change."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ullage.model.json_values import as_object, decode_json, encode_json

FrameId = int | float | str | None
_NOTHING = Raw(b"")


class Frame(Struct, frozen=True):
    """The outside of a JSON-RPC message; what is inside stays as it came until somebody asks."""

    method: str | UnsetType = UNSET
    id: FrameId | UnsetType = UNSET
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


def with_params(line: bytes, **changed: Any) -> bytes:
    """The line with some of its params set otherwise; every other value keeps the bytes it had."""
    whole = _raw_fields.decode(line)
    params = _raw_fields.decode(whole["params"])
    params |= {name: Raw(encode_json(value)) for name, value in changed.items()}
    whole["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(whole) + b"\n"


def request(frame_id: FrameId, method: str, params: Any) -> bytes:
    """A request of the proxy's own."""
    return _line({"jsonrpc": "2.0", "id": frame_id, "method": method, "params": params})


def notification(method: str, params: Any) -> bytes:
    """A notification of the proxy's own."""
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def response(frame_id: FrameId, result: Any) -> bytes:
    """An answer of the proxy's own."""
    return _line({"jsonrpc": "2.0", "id": frame_id, "result": result})


def refusal(frame_id: FrameId, code: int, message: str, kind: str) -> bytes:
    """An error of the proxy's own; `kind` is a stable word for programs."""
    error = {"code": code, "message": message, "data": {"kind": kind}}
    return _line({"jsonrpc": "2.0", "id": frame_id, "error": error})


def _line(message: dict[str, Any]) -> bytes:
    return encode_json(message) + b"\n"
