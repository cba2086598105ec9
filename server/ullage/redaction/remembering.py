"""Remembers what was made of texts, within a bound: a server reads texts of any length for days."""

import sys
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
V = TypeVar("V")
# Bytes of what remembers a text, in addition to the text.
_ENTRY = 150


def remembering(most: int, length: Callable[P, int]) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Decorates a function whose positional arguments can be keys, so that it is computed once for those that were used
    last, of a `length` of `most` in all. For one of more than half of that it is computed each time. Any thread may
    call it. Its `cache_clear` forgets all, so that a measurement starts as in a new process."""

    def decorate(function: Callable[P, V]) -> Callable[P, V]:
        # The older half goes when the newer one is full. Two dicts take less than one in order of use.
        newer, older = dict[Hashable, V](), dict[Hashable, V]()
        held = 0

        @wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> V:
            nonlocal newer, older, held
            key: Hashable = args
            # Another thread may put others in their places; at most, less is remembered then.
            last, before = newer, older
            if key in last:
                return last[key]
            value = before[key] if key in before else function(*args, **kwargs)
            size = length(*args, **kwargs)
            if size > most // 2:
                return value
            if held + size > most // 2:
                newer, older, held = {}, last, 0
            newer[key], held = value, held + size
            return value

        def cache_clear() -> None:
            nonlocal newer, older, held
            newer, older, held = {}, {}, 0

        setattr(remembered, "cache_clear", cache_clear)  # noqa: B010 - a type checker knows no such attribute
        return remembered

    return decorate


def len_of(text: str) -> int:
    """Returns the number of characters of a text."""
    return len(text)


def memory_of(text: str) -> int:
    """Returns about how many bytes it takes to remember a text. One outside of Latin has two to four a character."""
    return sys.getsizeof(text) + _ENTRY
