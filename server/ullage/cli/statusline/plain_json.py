"""Parses JSON without importing `json`, which imports `re`: that takes as long as all else that a status line does.

CPython's parser is in a module of its own (`Modules/_json.c`); `json` only wraps it. Where that module is missing,
`json` parses.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Rules:
    """What the parser asks for (the attributes of `json.JSONDecoder`): plain values, and no control characters in
    texts."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def parse(data: bytes) -> "Any":
    """Returns the value of a JSON text in UTF-8. Raises `ValueError`, or `RecursionError` if it is nested too
    deeply."""
    text = data.decode("utf-8", "surrogatepass").strip(" \t\r\n")
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.loads(text)
    try:
        value, end = make_scanner(_Rules)(text, 0)  # pyright: ignore
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def as_object(value: "Any") -> "dict[str, Any]":
    """Returns the value if it is a JSON object, otherwise an empty one."""
    return value if value.__class__ is dict else {}


def as_list(value: "Any") -> "list[Any]":
    """Returns the value if it is a list, otherwise an empty one."""
    return value if value.__class__ is list else []
