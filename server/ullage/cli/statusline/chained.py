"""The command that made the status line before: it gets the same input, and its line comes after Ullage's."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from ullage.host import this_system

# Seconds. An agent ends a status line itself when the next one is due; a longer wait means that the command hangs.
_PATIENCE = 10.0
# Bytes of what a command prints that are shown. One that prints more is killed.
_MOST = 64 << 10


class Chained:
    """A running command: one word is a command line for the shell, several are a program and its arguments."""

    def __init__(self, words: Sequence[str], given: bytes) -> None:
        self._given = given
        self._process: subprocess.Popen[bytes] | None = None
        self._is_starting, self._is_unwanted = True, False
        # First, so that the command is never left running alone.
        for number in this_system.ending[:1]:
            signal.signal(number, self._end)
        with suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                words[0] if len(words) == 1 else list(words),
                shell=len(words) == 1,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **this_system.apart(),
            )
        self._is_starting = False
        if self._is_unwanted:
            self._kill()
            sys.exit(0)

    def wait(self) -> str:
        """Returns what the command has printed, without line ends after it. Returns "" if it can't be started, and what
        there is if it fails; a command that hangs, or prints more than 64 KiB, is killed."""
        process = self._process
        if process is None or process.stdout is None:
            return ""
        until = time.monotonic() + _PATIENCE
        # The end of the command is the end of what it prints.
        hangs = threading.Timer(_PATIENCE, self._kill)
        hangs.daemon = True
        hangs.start()
        # A command may print more than a pipe holds before it reads.
        threading.Thread(target=self._give, daemon=True).start()
        out = process.stdout.read(_MOST)
        try:
            process.wait(max(0, until - time.monotonic()) if len(out) < _MOST else 0)
        except subprocess.TimeoutExpired:
            self._kill()
        hangs.cancel()
        return out.decode("utf-8", "replace").rstrip("\r\n")

    def _give(self) -> None:
        """Gives the command its input, which it need not read."""
        if self._process and self._process.stdin:
            with suppress(OSError), self._process.stdin as given:
                given.write(self._given)

    def _kill(self) -> None:
        """Kills the command with what it has started."""
        if self._process is None:
            return
        with suppress(OSError):
            if not this_system.end(self._process.pid, at_once=True):
                self._process.kill()

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        """Ends this program and the command. Called when the agent wants a newer line."""
        if self._is_starting:
            self._is_unwanted = True
            return
        self._kill()
        sys.exit(0)


def joined(own: str, other: str) -> str:
    """Returns Ullage's line and the lines of the other command: the first one on the same line."""
    return f"{own} | {other}" if own and other else own or other
