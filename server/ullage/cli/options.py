"""Parsed arguments as typed values."""

from argparse import Namespace
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class ReadingOptions(Struct, frozen=True, kw_only=True):
    """Which transcript to read, and how.

    `target` is a file or a stored session. `format` and `run` choose the file's format and the conversation in it,
    `model` and `window` (tokens) replace the transcript's own, `at` limits the number of messages.
    """

    target: str
    store: Path | None = None
    format: str | None = None
    run: int | None = None
    model: str | None = None
    window: int | None = None
    at: int | None = None

    @property
    def as_stored(self) -> bool:
        """Whether a stored session is read unchanged."""
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
    """Converts the arguments to a struct of the type `kind`."""
    return msgspec.convert(vars(args), kind)
