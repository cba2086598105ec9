"""The command that made the status line before: it gets the same input, and its line comes after Ullage's."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from ullage.host import this_system

# Seconds. An agent ends a status line itself when the next one is due; a longer wait means that the command hangs.
_PATIENCE = 10.0


class Chained:
    """A running command. One word is a command line for the shell, as agents' settings have it. Several words are a
    program and its arguments."""

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
        there is if it fails; a command that hangs is killed."""
        if self._process is None:
            return ""
        try:
            out, _ = self._process.communicate(self._given, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._kill()
            out, _ = self._process.communicate()
        except OSError:
            self._kill()
            return ""
        return out.decode("utf-8", "replace").rstrip("\r\n")

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
