"""Converts JSON-RPC messages between bytes and values.

The envelope is decoded first; the params stay raw until they are decoded as the method's type.
"""

import json
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError

from ullage.jsonrpc.rpc_errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorObject, RpcError

RequestId = int | str
T = TypeVar("T")
_NOTHING = Raw(b"")
# Params that mean "no params": absent, null, or `[]` from Lua, where an empty table is a list.
_EMPTY = {b"", b"null", b"[]"}
_LONGEST_EMPTY = max(map(len, _EMPTY))


class Incoming(Struct, frozen=True):
    """A received JSON-RPC message, with params, result and error as undecoded JSON (empty if absent).

    A request has a method and an id, a notification a method alone, a reply an id and a result or an error.
    """

    jsonrpc: str
    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING

    @property
    def is_reply(self) -> bool:
        """Whether the message is a reply: it has an id and a result or an error."""
        return self.id is not UNSET and bool(memoryview(self.result) or memoryview(self.error))


class Request(Struct, frozen=True, kw_only=True):
    """A JSON-RPC request to send."""

    id: RequestId
    method: str
    params: Any
    jsonrpc: str = "2.0"


class Response(Struct, frozen=True, kw_only=True):
    """A JSON-RPC answer with a result, to send."""

    id: RequestId | None
    result: Any
    jsonrpc: str = "2.0"


class ErrorResponse(Struct, frozen=True, kw_only=True):
    """A JSON-RPC answer with an error, to send. `id` is None if the id of the refused request could not be read."""

    id: RequestId | None
    error: ErrorObject
    jsonrpc: str = "2.0"


class Notification(Struct, frozen=True, kw_only=True):
    """A JSON-RPC notification to send."""

    method: str
    params: Any
    jsonrpc: str = "2.0"


class _OnlyId(Struct, frozen=True):
    id: Any = None


_envelope = msgspec.json.Decoder(Incoming)
_only_id = msgspec.json.Decoder(_OnlyId)
_anything = msgspec.json.Decoder(Raw)


def read_envelope(body: bytes | bytearray) -> Incoming:
    """Returns a JSON-RPC message decoded except for its params, result and error.

    Raises `RpcError` with -32700 if the body is not JSON, and with -32600 if it is not a JSON-RPC 2.0 message.
    """
    try:
        message = _decode(body, _envelope)
    except ValidationError as error:
        raise _no_message(body, f"{error}.") from None
    except (ValueError, RecursionError):
        raise _not_json() from None
    if message.jsonrpc != "2.0":
        raise _no_message(body, '"jsonrpc" is not "2.0".')
    return message


def read_params(method: str, params: Raw, decoder: "msgspec.json.Decoder[Any]") -> Any:
    """Returns a method's params as `decoder` decodes them; missing, null or `[]` params count as an empty object.
    Raises `RpcError` (-32602) with a line that names the wrong field, or (-32700) if they are not JSON."""
    try:
        return decoder.decode(b"{}" if _is_empty(params) else params)
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{method}: {_lower_first(str(error))}.", "InvalidRequest") from None
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, f"{method}: the params are not valid JSON.") from None


def _is_empty(params: Raw) -> bool:
    # The length is compared before the params are copied: they may be tens of megabytes.
    return len(memoryview(params)) <= _LONGEST_EMPTY and bytes(params) in _EMPTY


def _decode(body: bytes | bytearray, decoder: "msgspec.json.Decoder[T]") -> T:
    try:
        return decoder.decode(body)
    except ValidationError:
        raise
    except DecodeError:
        return decoder.decode(_mend_surrogates(body))


def _mend_surrogates(body: bytes | bytearray) -> bytes:
    r"""Returns the body with U+FFFD for each lone surrogate, which msgspec refuses.

    JavaScript writes half an emoji as the escape `\ud83d`.
    """
    text = json.dumps(json.loads(body.decode()), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _no_message(body: bytes | bytearray, fault: str) -> RpcError:
    """Returns the error for a body that is not a JSON-RPC message: a parse error if any part of the body is not JSON,
    else an invalid request with the text `fault`."""
    try:
        _decode(body, _anything)
    except (ValueError, RecursionError):
        return _not_json()
    return RpcError(INVALID_REQUEST, f"Not a JSON-RPC message: {fault}", request_id=_find_id(body))


def _not_json() -> RpcError:
    return RpcError(PARSE_ERROR, "The message is not valid JSON.")


def _find_id(body: bytes | bytearray) -> RequestId | None:
    try:
        found = _decode(body, _only_id).id
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
