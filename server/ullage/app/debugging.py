"""Logging and the debugger, for developers of a server process."""

import logging
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from ullage.model.errors import InvalidRequest

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
    """Waits until a debugger connects to the port on this machine. Raises `InvalidRequest` if debugpy is not installed,
    or if the port is in use."""
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
