"""Removes secrets, imitations, and what matches one of the user's private patterns from text that goes into summaries
and ledgers.

The steps are imported when the first text comes. Their patterns take a twentieth of a server's start to compile.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from ullage.redaction import REDACTED
from ullage.redaction.remembering import memory_of, remembering

# Bytes of the texts whose redaction is remembered: a message is read for a summary, judged and quoted. The largest
# windows hold two million tokens, 8 MB of English, and at least half stays.
_REMEMBERED = 16_000_000

Step = Callable[[str], str]


def clean(text: str) -> str:
    """Returns `text` fit for a summary: imitations are rewritten as quotes, then secrets are redacted.

    In this order, because invisible characters that hide a secret are removed with the imitations.
    """
    return redact(_neutralise()(text))


@remembering(_REMEMBERED, memory_of)
def redact(text: str) -> str:
    """Returns `text` with `[redacted]` for keys, tokens, passwords and private keys. Is idempotent."""
    return _redact()(text)


@cache
def _neutralise() -> Step:
    from ullage.redaction.imitations import neutralise  # noqa: PLC0415

    return neutralise


@cache
def _redact() -> Step:
    from ullage.redaction.redact_secrets import redact_all  # noqa: PLC0415

    return redact_all


# Seconds that one pattern may take on one text, and the texts on which patterns may take longer.
_PATIENCE = 0.5
_MOST_LATE = 4
T = TypeVar("T", bound=msgspec.Struct)
# Fields that programs read, not text: changing them would change what the value means.
_NOT_TEXT = frozenset(
    {"type", "id", "tool_use_id", "role", "signature", "redacted", "data", "action", "outcome", "kept", "summarizer"}
)


def hide(value: T, patterns: Sequence[str]) -> T:
    """Returns the struct with every match of `patterns` (regular expressions) in its texts replaced by `[redacted]`.
    Without patterns it returns the same struct. A text on which a pattern takes too long is replaced as a whole; after
    four of them all texts are, because a pattern can take exponential time on each."""
    return with_texts(value, _Hiding(patterns).hide) if patterns else value


def hide_text(text: str, patterns: Sequence[str]) -> str:
    """Returns the text with every match of `patterns` (regular expressions) replaced by `[redacted]`. A text on which a
    pattern takes too long becomes `[redacted]`."""
    return _Hiding(patterns).hide(text) if patterns else text


class _Hiding:
    def __init__(self, patterns: Sequence[str]) -> None:
        import regex  # noqa: PLC0415  (10 ms to import, which only users of such patterns need)

        self._patterns = [regex.compile(pattern) for pattern in patterns]
        self._tries_left = _MOST_LATE

    def hide(self, text: str) -> str:
        if self._tries_left <= 0:
            return REDACTED if text else text
        try:
            for pattern in self._patterns:
                text = pattern.sub(REDACTED, text, concurrent=True, timeout=_PATIENCE)
        except TimeoutError:
            self._tries_left -= 1
            return REDACTED
        return text


def with_texts(value: T, change: Callable[[str], str]) -> T:
    """Returns the struct with every string value in it, at any depth, replaced by `change(text)`.

    Keys of objects stay, and so do the fields in `_NOT_TEXT`, which programs read. Raises `msgspec.ValidationError` if
    `change` returns a string that a field does not accept.
    """
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
