"""Prepares a process for serving, and remembers that a store can't be opened.

Used by the Language Server, the ACP agent and the proxy.
"""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from ullage.model.errors import StoreError
from ullage.redaction.clean import clean
from ullage.tokens import vocabulary

# Seconds after which a thread that counts or summarizes lets other threads run. With Python's own 5 ms, an answer waits
# several times that long, and once for each busy thread.
_SWITCH_INTERVAL = 0.0005
T = TypeVar("T")
# Seconds in which a failure is repeated instead of trying again. A server that doesn't answer takes 5 s to find out.
_REPEATED = 10.0


def share_the_interpreter() -> None:
    """Sets the interpreter's switch interval to 0.5 ms, so that answers are sent soon while other threads compute."""
    sys.setswitchinterval(_SWITCH_INTERVAL)


def warm_up() -> None:
    """Imports the modules that opening a workspace needs, and loads the tokenizer vocabulary that most models share, so
    that the first request doesn't wait for them."""
    import_module("ullage.app.compose")
    clean("")
    vocabulary.warm_up()


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
