"""Giving up long work: whoever wants a result hands in a `Check`, the work calls it at every step."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
# Of what takes microseconds so many make up a step.
MANY = 256
# Returns when the work shall go on, and raises when it shall not. Called very often: it must cost next to nothing.
Check = Callable[[], None]


def go_on() -> None:
    """The check of work that nobody gives up."""


def checked(items: Iterable[T], check: Check, every: int = 1) -> Iterator[T]:
    """The items, a check before each, or before one in so many where each is a matter of microseconds."""
    for number, item in enumerate(items):
        if not number % every:
            check()
        yield item
