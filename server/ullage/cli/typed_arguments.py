"""Parsed arguments as typed values."""

from argparse import Namespace
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class ReadingOptions(Struct, frozen=True, kw_only=True):
    """What to look at, and how: a file (its format, which run of it) or session, its model and window, and how many
    of its messages."""

    target: str
    store: Path | None = None
    format: str | None = None
    run: int | None = None
    model: str | None = None
    window: int | None = None
    at: int | None = None

    @property
    def as_stored(self) -> bool:
        """Whether a stored session is to be looked at as it is."""
        return self.model is None and self.window is None and self.at is None


class HistoryOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage history`."""

    json: bool
    ascii: bool


class ContextOptions(HistoryOptions, frozen=True, kw_only=True):
    """The arguments of `ullage context`."""

    provider: str


class CompactOptions(ContextOptions, frozen=True, kw_only=True):
    """The arguments of `ullage compact`."""

    budget: int | None
    first: str | None
    last: str | None
    focus: str
    output: Path | None


def read_options(args: Namespace, kind: type[T]) -> T:
    """The arguments as a value of that struct."""
    return msgspec.convert(vars(args), kind)
