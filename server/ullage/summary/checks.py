"""Giving up long work: whoever wants a result hands in a `Check`, the work calls it at every step."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
# Returns when the work shall go on, and raises when it shall not. Called very often: it must cost next to nothing.
Check = Callable[[], None]


def go_on() -> None:
    """The check of work that nobody gives up."""


def checked(items: Iterable[T], check: Check) -> Iterator[T]:
    """The items, each after a check."""
    for item in items:
        check()
        yield item
