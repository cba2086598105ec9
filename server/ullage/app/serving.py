"""What all servers have in common: how a process is prepared for serving, its log and debugger, and that a store that
can't be opened is not tried again at once.
"""

import logging
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ullage.model.errors import InvalidRequest, StoreError
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
        """Returns what `opening` returns. Repeats the `StoreError` that it raises for some seconds, without a call."""
        if self._error is not None and time.monotonic() < self._until:
            raise self._error
        try:
            return opening()
        except StoreError as error:
            self._error, self._until = error, time.monotonic() + _REPEATED
            raise


_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# The loopback alone, because any program that connects to a debugger can run code in it.
_HOST = "127.0.0.1"


def start_logging(*, debug: bool, file: Path | None) -> None:
    """Logs to the file, or to standard error if `file` is None: every message if `debug` is true, otherwise warnings
    and errors.

    Creates the file, readable by its owner alone, and its folder. Raises `InvalidRequest` if the file can't be written.
    """
    try:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        handler = logging.StreamHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"cannot write the log {file}: {error.strerror}; choose another file") from error
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format=_FORMAT, handlers=[handler])


def wait_for_debugger(port: int) -> None:
    """Waits for a debugger at the port. Raises `InvalidRequest` without debugpy, or if the port is in use."""
    try:
        debugpy: Any = import_module("debugpy")
    except ModuleNotFoundError as error:
        remedy = f"{sys.executable} -m pip install debugpy"
        raise InvalidRequest(f"--wait-for-debugger needs debugpy, which is not installed; run: {remedy}") from error
    try:
        debugpy.listen((_HOST, port))
    except (OSError, RuntimeError) as error:
        raise InvalidRequest(f"no debugger can connect at port {port}: {error}; choose another port") from error
    sys.stderr.write(f"ullage: waiting for a debugger at {_HOST}:{port}\n")
    debugpy.wait_for_client()


def unix_milliseconds() -> int:
    """Returns the current time in Unix milliseconds."""
    return time.time_ns() // 1_000_000
