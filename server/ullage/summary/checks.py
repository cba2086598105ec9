"""Abandoning long work: the caller passes a `Check`, and the work calls it at every step."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
# This many items that take microseconds each make up one step.
MANY = 256
# Returns if the work shall continue, else raises. Called very often, so it must cost next to nothing.
Check = Callable[[], None]


def go_on() -> None:
    """Does nothing, so the work continues: the check for work that is never abandoned."""


def checked(items: Iterable[T], check: Check, every: int = 1) -> Iterator[T]:
    """Yields the items, and calls `check` before every item, or before one in `every`. An exception of `check` ends the
    work."""
    if every == 1:
        for item in items:
            check()
            yield item
        return
    # In slices, so that an item costs little more than without this.
    left = iter(items)
    while several := list(islice(left, every)):
        check()
        yield from several
