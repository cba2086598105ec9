"""Remembers that a store can't be opened, so that not each request of a client waits for a server that is gone."""

import time
from collections.abc import Callable
from typing import TypeVar

from ullage.model.errors import StoreError

T = TypeVar("T")
# Seconds in which a failure is repeated instead of trying again. A server that doesn't answer takes 5 s to find out.
_REPEATED = 10.0


class OpeningFailure:
    """The last failure of an opening."""

    def __init__(self) -> None:
        self._error: StoreError | None = None
        self._until = 0.0

    def opened(self, opening: Callable[[], T]) -> T:
        """Returns what `opening` returns. Raises the `StoreError` that it raises, and the same one for some seconds
        afterwards, without calling it again."""
        if self._error is not None and time.monotonic() < self._until:
            raise self._error
        try:
            return opening()
        except StoreError as error:
            self._error, self._until = error, time.monotonic() + _REPEATED
            raise
