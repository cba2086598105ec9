"""Private passages: what a person's own patterns match is left out of every summary and ledger, as secrets are."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from ullage.redaction.secrets.shapes import REDACTED

T = TypeVar("T", bound=msgspec.Struct)
# Fields that hold names of things for programs, not words: to touch them would change what a value is.
_NOT_TEXT = frozenset(
    {"type", "id", "tool_use_id", "role", "signature", "redacted", "data", "action", "outcome", "kept", "summarizer"}
)


def hide(value: T, patterns: Sequence[str]) -> T:
    """The value with every match in any text of it replaced. Costs nothing without patterns."""
    return with_texts(value, lambda text: hide_text(text, patterns)) if patterns else value


def hide_text(text: str, patterns: Sequence[str]) -> str:
    """The text with every match replaced."""
    for pattern in patterns:
        text = re.sub(pattern, REDACTED, text)
    return text


def with_texts(value: T, change: Callable[[str], str]) -> T:
    """The value with every text of it, however deep, as `change` makes it."""
    return msgspec.convert(_changed(msgspec.to_builtins(value), change), type(value))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: inner if key in _NOT_TEXT else _changed(inner, change) for key, inner in items}
        case list() | tuple():
            return [_changed(inner, change) for inner in cast("list[Any]", value)]
        case _:
            return value
