"""Programs in panes of a terminal, as users have them side by side: a tmux server of the test's own."""

import asyncio
import shlex
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.acp_end import PATIENCE

HAS_TMUX = shutil.which("tmux") is not None
_COLUMNS, _LINES = 140, 40
# Seconds between two looks at a pane, and between a text and the key that sends it: a program that gets both at once
# takes them for pasted.
_LOOK_EVERY, _TYPING = 0.1, 0.3


class Pane:
    """A program in a terminal of 140 by 40 characters."""

    def __init__(self, socket: Path, name: str) -> None:
        self._socket = socket
        self.name = name

    @property
    def screen(self) -> str:
        """What the pane shows now, without blank lines."""
        shown = _tmux(self._socket, "capture-pane", "-p", "-t", self.name)
        return "\n".join(line.rstrip() for line in shown.splitlines() if line.strip())

    async def type(self, text: str) -> None:
        """Types a line and sends it with Enter."""
        _tmux(self._socket, "send-keys", "-t", self.name, "-l", "--", text)
        await asyncio.sleep(_TYPING)
        _tmux(self._socket, "send-keys", "-t", self.name, "Enter")

    async def until(self, *texts: str) -> str:
        """Waits until the pane shows one of these texts. Returns the screen. Raises `AssertionError` with the screen
        otherwise."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not any(text in (screen := self.screen) for text in texts):
                    await asyncio.sleep(_LOOK_EVERY)
                return screen
        except TimeoutError:
            raise AssertionError(f"{self.name} never showed {' or '.join(texts)}:\n{self.screen}") from None


class Panes:
    """Opens panes. All of them end with the block of `panes`."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def open(self, name: str, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> Pane:
        """Starts a program in a pane of its own, with this environment alone."""
        variables = [f"{key}={value}" for key, value in environment.items()]
        line = shlex.join(["env", "-i", "TERM=screen-256color", *variables, *command])
        size = ("-x", str(_COLUMNS), "-y", str(_LINES))
        # What the program wrote last stays to be read in a failure.
        _tmux(self._socket, "new-session", "-d", "-s", name, *size, "-c", str(cwd), f"{line}; sleep {PATIENCE}")
        return Pane(self._socket, name)


@contextmanager
def panes(folder: Path) -> Generator[Panes]:
    """Ends the panes and their programs after the block. `folder` holds the socket; its path must be short."""
    socket = folder / "tmux"
    try:
        yield Panes(socket)
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


def _tmux(socket: Path, *arguments: str) -> str:
    command = ["tmux", "-S", str(socket), "-f", "/dev/null", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
