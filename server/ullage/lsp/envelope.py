"""JSON-RPC messages as bytes and values: the envelope is decoded once, params by their own type."""

import json
from typing import Any

import msgspec
from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError

from ullage.api.codes import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from ullage.api.error_object import ErrorObject
from ullage.model.json_values import encode_json

RequestId = int | str
_NOTHING = Raw(b"")
# What an absent, null or (from Lua, where an empty table is a list) `[]` params stands for.
_EMPTY = {b"", b"null", b"[]"}
_LONGEST_EMPTY = max(map(len, _EMPTY))


class RpcError(Exception):
    """A request is refused: JSON-RPC's code, one line for a person, and `kind` for programs."""

    def __init__(self, code: int, message: str, kind: str = "", request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.request_id = request_id


class Incoming(Struct, frozen=True):
    """A request (method and id), a notification (method) or a reply (id)."""

    jsonrpc: str
    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


class Response(Struct, frozen=True, kw_only=True):
    """A result on its way out."""

    id: RequestId
    result: Any
    jsonrpc: str = "2.0"


class ErrorResponse(Struct, frozen=True, kw_only=True):
    """A refusal on its way out; `id` is null where the request's could not be read."""

    id: RequestId | None
    error: ErrorObject
    jsonrpc: str = "2.0"


class Request(Struct, frozen=True, kw_only=True):
    """A request of ours on its way out."""

    id: RequestId
    method: str
    params: Any
    jsonrpc: str = "2.0"


class Notification(Struct, frozen=True, kw_only=True):
    """A notification on its way out."""

    method: str
    params: Any
    jsonrpc: str = "2.0"


class _OnlyId(Struct, frozen=True):
    id: Any = None


_envelope = msgspec.json.Decoder(Incoming)
_only_id = msgspec.json.Decoder(_OnlyId)


def read_envelope(body: bytes) -> Incoming:
    """Raises `RpcError`: -32700 for what is not JSON, -32600 for what is no JSON-RPC 2.0 message."""
    try:
        message = _decode(body)
    except ValidationError as error:
        raise RpcError(INVALID_REQUEST, f"Not a JSON-RPC message: {error}.", request_id=_find_id(body)) from None
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "The message is not valid JSON.") from None
    if message.jsonrpc != "2.0":
        raise RpcError(INVALID_REQUEST, 'Not a JSON-RPC message: "jsonrpc" is not "2.0".', request_id=_find_id(body))
    if message.method is not UNSET and message.id is None:
        raise RpcError(INVALID_REQUEST, "A request's id is a number or a string, not null.")
    return message


def read_params(method: str, params: Raw, decoder: "msgspec.json.Decoder[Any]") -> Any:
    """Params as the method's type. Raises `RpcError` (-32602) with one line that names the field."""
    try:
        return decoder.decode(b"{}" if _is_empty(params) else params)
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{method}: {_lower_first(str(error))}.", "InvalidRequest") from None
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, f"{method}: the params are not valid JSON.") from None


def _is_empty(params: Raw) -> bool:
    # Looked at before it is copied: params may be tens of megabytes.
    return len(memoryview(params)) <= _LONGEST_EMPTY and bytes(params) in _EMPTY


def encode(value: Any) -> bytes:
    """A value as JSON. Lone surrogates, which UTF-8 cannot hold, go out as the escapes they came in as."""
    return encode_json(value)


def _decode(body: bytes) -> Incoming:
    try:
        return _envelope.decode(body)
    except ValidationError:
        raise
    except DecodeError:
        return _envelope.decode(_mend_surrogates(body))


def _mend_surrogates(body: bytes) -> bytes:
    r"""JavaScript escapes half an emoji as a lone `\ud83d`, which msgspec refuses; it becomes U+FFFD."""
    text = json.dumps(json.loads(body.decode()), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _find_id(body: bytes) -> RequestId | None:
    try:
        found = _only_id.decode(body).id
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
