"""What a door owes for a body, found out with Python's own JSON reader, so by other code than the door's.

Where the two readers may differ with right on both sides (numbers beyond a double, text that is not UTF-8 in a part
that nobody reads), several answers are right.
"""

import json
from typing import Any, cast

from msgspec import Struct

from ullage.api.codes import CODES

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
# LSP's "not initialized" shares its number with ACP's "not found". An internal error is never right.
REFUSALS = frozenset({PARSE, REQUEST, METHOD, PARAMS, -32800, -32000, -32001, -32002, *CODES.values()})


class Owed(Struct, frozen=True):
    """`ids` of which one is answered once (None for an error about nothing that could be read); `codes` that an error
    may have; `result` and `silence` say whether there may be one, or no
    answer. Without ids there is no answer at all."""

    ids: tuple[Any, ...] = ()
    codes: frozenset[int] = frozenset()
    result: bool = False
    silence: bool = False


NOTHING = Owed()
NOT_JSON = Owed((None,), frozenset({PARSE}))
TOO_LONG = Owed((None,), frozenset({REQUEST}))


def owed(body: bytes) -> Owed:
    """What must come back for a body."""
    if not body.strip():
        # Nothing on a line is nothing; nothing in a frame of its own is no JSON.
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
        # 1.0 is a whole number, and numbers beyond 64 bits are each reader's own affair.
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
    """A part that nobody reads may be passed over; then the rest counts."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return Owed((None, *_guess_id(body)), REFUSALS, result=True, silence=True)
    return NOT_JSON


def _mended(request_id: Any) -> Any:
    """An id with half an emoji, which no UTF-8 can hold, comes back with a replacement."""
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
