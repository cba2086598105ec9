"""Terminals of a test's own, as a user sees them."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

# Seconds until a screen shows what is waited for, on a busy machine.
PATIENCE = 180.0


def wait_until(is_met: Callable[[], bool]) -> None:
    """Waits until a condition is met. Fails after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while not is_met():
        assert time.monotonic() < end
        time.sleep(0.05)


class Pane:
    """A terminal that runs one program. `socket` is a path that the terminal's server may use."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def start(
        self,
        command: list[str],
        environment: dict[str, str],
        size: tuple[int, int] = (110, 34),
        folder: Path | None = None,
    ) -> None:
        """Starts the program. `size` is columns and lines."""
        columns, lines = size
        subprocess.run(
            [*self._tmux, "new-session", "-d", "-x", str(columns), "-y", str(lines), *command],
            env=environment,
            cwd=folder,
            check=True,
        )

    def type(self, *keys: str) -> None:
        """Types keys, by tmux's names of them, and texts."""
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def text(self) -> str:
        """Returns what the screen shows."""
        return subprocess.run([*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def wait(self, wanted: Callable[[str], bool]) -> str:
        """Waits until the screen shows what is wanted, and returns what it shows. Fails after `PATIENCE`."""
        end = time.monotonic() + PATIENCE
        while not wanted(text := self.text()):
            assert time.monotonic() < end, text
            time.sleep(0.05)
        return text

    def stop(self) -> None:
        """Ends the program and the terminal."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)
