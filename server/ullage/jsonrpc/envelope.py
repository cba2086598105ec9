"""JSON-RPC messages as bytes and values: the envelope is decoded once, params by their own type."""

import json
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError

from ullage.jsonrpc.rpc_errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorObject, RpcError

RequestId = int | str
T = TypeVar("T")
_NOTHING = Raw(b"")
# What an absent, null or (from Lua, where an empty table is a list) `[]` params stands for.
_EMPTY = {b"", b"null", b"[]"}
_LONGEST_EMPTY = max(map(len, _EMPTY))


class Incoming(Struct, frozen=True):
    """A request (method and id), a notification (method) or a reply (id)."""

    jsonrpc: str
    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING

    @property
    def is_reply(self) -> bool:
        """Whether it answers: an id alone does not."""
        return self.id is not UNSET and bool(memoryview(self.result) or memoryview(self.error))


class Request(Struct, frozen=True, kw_only=True):
    """A request of ours on its way out."""

    id: RequestId
    method: str
    params: Any
    jsonrpc: str = "2.0"


class Response(Struct, frozen=True, kw_only=True):
    """A result on its way out."""

    id: RequestId | None
    result: Any
    jsonrpc: str = "2.0"


class ErrorResponse(Struct, frozen=True, kw_only=True):
    """A refusal on its way out; `id` is null where the request's could not be read."""

    id: RequestId | None
    error: ErrorObject
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
_anything = msgspec.json.Decoder(Raw)


def read_envelope(body: bytes) -> Incoming:
    """Raises `RpcError`: -32700 for what is not JSON, -32600 for what is no JSON-RPC 2.0 message."""
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


def _decode(body: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    try:
        return decoder.decode(body)
    except ValidationError:
        raise
    except DecodeError:
        return decoder.decode(_mend_surrogates(body))


def _mend_surrogates(body: bytes) -> bytes:
    r"""JavaScript escapes half an emoji as a lone `\ud83d`, which msgspec refuses; it becomes U+FFFD."""
    text = json.dumps(json.loads(body.decode()), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _no_message(body: bytes, fault: str) -> RpcError:
    """A fault was found where it stood; what comes behind it may not even be JSON."""
    try:
        _decode(body, _anything)
    except (ValueError, RecursionError):
        return _not_json()
    return RpcError(INVALID_REQUEST, f"Not a JSON-RPC message: {fault}", request_id=_find_id(body))


def _not_json() -> RpcError:
    return RpcError(PARSE_ERROR, "The message is not valid JSON.")


def _find_id(body: bytes) -> RequestId | None:
    try:
        found = _decode(body, _only_id).id
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
