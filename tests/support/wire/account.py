"""Counts tokens as the servers do: each text of a request, and the part that is the same as in the request before.

The tokenizer is given as a table. The sum over a request is computed here, without the code that the servers check.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from ullage.model.json_values import as_list, as_object
from ullage.tokens.counter import get_counter

# Tokens that a provider adds around each item of a request (roles, separators) and around the whole request.
_PER_ITEM, _PER_REQUEST = 4, 3
# Keys whose values configure the request. The model does not read these values.
_SILENT = {"type", "cache_control", "signature", "data", "id", "call_id", "tool_use_id", "tool_call_id"}


class Account(Struct, frozen=True, kw_only=True):
    """Tokens of one request: the whole prompt, the part that was read from the cache, and the answer."""

    prompt: int
    cached: int
    output: int
    reasoning: int = 0


def count_items(items: Sequence[Any]) -> int:
    """Returns the tokens of a prompt with these items."""
    return _PER_REQUEST + sum(_count_item(_key(item)) for item in items)


def shared_tokens(items: Sequence[Any], before: Sequence[Any]) -> int:
    """Returns the tokens at the beginning that are the same in this request and the one before."""
    total = 0
    for item, earlier in zip(items, before, strict=False):
        if _key(item) != _key(earlier):
            break
        total += _count_item(_key(item))
    return total


def count_text(text: str) -> int:
    """Returns the tokens of a text."""
    return get_counter("gpt-4o").count(text)


def _key(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False)


@lru_cache(maxsize=20_000)
def _count_item(key: str) -> int:
    return _PER_ITEM + sum(count_text(text) for text in _texts(json.loads(key)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in as_list(value):
            yield from _texts(part)
    elif isinstance(value, dict):
        for name, part in as_object(value).items():
            if name == "input":
                yield json.dumps(part, ensure_ascii=False)
            elif name not in _SILENT:
                yield from _texts(part)
