"""Messages of the Language Server Protocol's own methods, as lsprotocol's types."""

import re
from typing import Any

import msgspec
from cattrs import BaseValidationError, Converter, transform_error
from msgspec import Raw

from ullage.jsonrpc.codes import INVALID_PARAMS
from ullage.jsonrpc.envelope import Incoming, RequestId, read_params
from ullage.jsonrpc.errors import RpcError

_plain: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def structure_message(converter: Converter, kind: Any, method: str, params: Raw, request_id: RequestId | None) -> Any:
    """A request or notification as `kind`. Raises `RpcError` (-32602) with one line that names the field."""
    data: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if request_id is not None:
        data["id"] = request_id
    if bytes(params):
        data["params"] = read_params(method, params, _plain)
    try:
        return converter.structure(data, kind)
    except BaseValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{method}: {_describe(error)}.", "InvalidRequest") from None


def reply_to_builtins(message: Incoming, request_id: RequestId) -> dict[str, Any]:
    """A reply of the client as plain values. Raises `ValueError` for text that is not UTF-8."""
    parts = {"result": bytes(message.result), "error": bytes(message.error)}
    return {"jsonrpc": "2.0", "id": request_id} | {name: _plain.decode(raw) for name, raw in parts.items() if raw}


def _describe(error: BaseValidationError) -> str:
    """The first fault, with its field as the wire spells it."""
    fault, _, path = transform_error(error)[0].partition(" @ ")
    field = re.sub(r"_(\w)", lambda match: match[1].upper(), path.removeprefix("$."))
    return f"{fault} - at `{field}`"
