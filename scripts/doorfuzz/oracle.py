"""Decides which answers to a body are right. Bodies are read with Python's own JSON reader, not with the door's.

In some cases both readers are right although they differ: for numbers beyond a double, and for text that is not UTF-8
in a part that the door skips. Then several answers are right.
"""

import json
from typing import Any, cast

from msgspec import Struct

from ullage.api.codes import CODES

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
# LSP's "not initialized" has the same number as ACP's "not found". An internal error is never right.
REFUSALS = frozenset({PARSE, REQUEST, METHOD, PARAMS, -32800, -32000, -32001, -32002, *CODES.values()})


class Owed(Struct, frozen=True):
    """The right answers to a body. One of `ids` is answered once; None is the id of an error if no id could be read.
    An error must have one of `codes`. `result` and `silence` say whether a result, or no answer, is right, too.
    Without ids there must be no answer."""

    ids: tuple[Any, ...] = ()
    codes: frozenset[int] = frozenset()
    result: bool = False
    silence: bool = False


NOTHING = Owed()
NOT_JSON = Owed((None,), frozenset({PARSE}))
TOO_LONG = Owed((None,), frozenset({REQUEST}))


def owed(body: bytes) -> Owed:
    """Returns the right answers to a body."""
    if not body.strip():
        # An empty line is no message at the ACP door; an empty frame is invalid JSON at the LSP door.
        return Owed((None,), frozenset({PARSE}), silence=True)
    try:
        message = json.loads(body.decode(), parse_constant=_refuse)
    except RecursionError:
        return Owed((None, *_guess_id(body)), frozenset({PARSE, REQUEST, METHOD, PARAMS}))
    except ValueError:
        return _for_no_json(body)
    if not isinstance(message, dict):
        return Owed((None,), frozenset({REQUEST}))
    return _for_object(cast("dict[str, Any]", message))


def _for_object(message: dict[str, Any]) -> Owed:
    request_id = _mended(message.get("id"))
    method = message.get("method")
    whole = isinstance(request_id, int) and not isinstance(request_id, bool)
    known = request_id if whole or isinstance(request_id, str) else None
    if isinstance(request_id, float) or (whole and not -(2**63) <= int(request_id) < 2**64):
        # A reader may take 1.0 for a whole number, and may read or refuse numbers beyond 64 bits.
        return Owed((request_id, None), REFUSALS, result=True)
    is_envelope = message.get("jsonrpc") == "2.0" and ("id" not in message or known is not None or request_id is None)
    if not is_envelope or not isinstance(method, str | None) or (method is None and not _is_reply(message)):
        return Owed((known,), frozenset({REQUEST}))
    if method is None or "id" not in message:
        return NOTHING
    return Owed((known, None), REFUSALS, result=True)


def _is_reply(message: dict[str, Any]) -> bool:
    return "id" in message and bool(message.keys() & {"result", "error"})


def _for_no_json(body: bytes) -> Owed:
    """Returns the right answers to a body that is not JSON. A door may skip invalid UTF-8 in a part that it does not
    decode."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return Owed((None, *_guess_id(body)), REFUSALS, result=True, silence=True)
    return NOT_JSON


def _mended(request_id: Any) -> Any:
    """Returns the id as an answer has it. UTF-8 cannot hold half a surrogate pair, so a replacement character comes
    back."""
    if not isinstance(request_id, str):
        return request_id
    return request_id.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _guess_id(body: bytes) -> tuple[Any, ...]:
    try:
        message = json.loads(body.decode(errors="replace"))
    except (ValueError, RecursionError):
        return (1, 2, 3)
    found = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return (found,)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
