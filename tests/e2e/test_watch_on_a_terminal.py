"""`ullage watch` on a real terminal: keys open what they say, and the terminal is as before when it ends."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import ullage
from support.homes import Home, put_claude
from ullage.store.sqlite.catalogue import Keeping

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals of POSIX", allow_module_level=True)

import fcntl
import pty
import struct
import termios

# Seconds. A busy machine may be slow.
PATIENCE = 180
ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A terminal in which `ullage watch` runs. `seen` is everything that it has printed."""

    def __init__(self, home: Path, lines: str = "") -> None:
        self._main, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(own)
        self._own = own
        self.seen = b""
        env = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ullage", "watch", "--store", str(home / "s.db"), "--since", "9999999", "--ascii"],
            stdin=own,
            stdout=own,
            stderr=own,
            env={**env, "COLUMNS": "", "LINES": lines},
            start_new_session=True,
        )

    def until(self, text: str) -> None:
        """Reads until the terminal has shown the text since the last call."""
        end, found = time.monotonic() + PATIENCE, b""
        while text not in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", found).decode(errors="replace"):
            assert time.monotonic() < end, found
            found += self._read()
        self.seen += found

    def press(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def end(self) -> int:
        """Waits for the end and returns the exit status. Asserts that the terminal is as it was."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self.seen += self._read()
        # The terminal may hold more than one read takes.
        while data := self._read():
            self.seen += data
        assert termios.tcgetattr(self._own) == self.before
        assert self.seen.count(ENTER_SCREEN) == self.seen.count(LEAVE_SCREEN) == 1
        assert b"Traceback" not in self.seen
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        os.close(self._main)
        os.close(self._own)

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._main], [], [], 0.1)
        return os.read(self._main, 1 << 16) if ready else b""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    home = Home(tmp_path)
    file = put_claude(home, title="Why is it wet?", tokens=90_000)
    os.utime(file)
    Keeping(tmp_path / "s.db").answer(keep=True)
    shown = Terminal(tmp_path)
    yield shown
    shown.close()


def test_no_more_lines_are_drawn_than_the_terminal_has_whatever_the_environment_says(tmp_path: Path) -> None:
    os.utime(put_claude(Home(tmp_path), title="Why is it wet?", tokens=90_000))
    Keeping(tmp_path / "s.db").answer(keep=True)
    shown = Terminal(tmp_path, lines="60")
    try:
        shown.until("Why is it wet?")
        shown.until("q quit")
        shown.press("q")
        assert shown.end() == 0
        frames = shown.seen.split(b"\x1b[H")
        assert max(frame.count(b"\n") for frame in frames) < 24
    finally:
        shown.close()


@pytest.mark.parametrize(("typed", "keeps"), [("\r", True), ("n\r", False)])
def test_it_asks_once_whether_to_keep_what_agents_write(tmp_path: Path, typed: str, *, keeps: bool) -> None:
    os.utime(put_claude(Home(tmp_path), title="Why is it wet?", tokens=90_000))
    for is_first in (True, False):
        terminal = Terminal(tmp_path)
        try:
            if is_first:
                terminal.until("Keep them? [Y/n]")
                assert b"1 conversation on this machine" in terminal.seen
                assert not (tmp_path / "s.db.archive").exists()
                terminal.press(typed)
            terminal.until(
                "Kept: 1 conversation, " if keeps else "Kept: words, in the store; no agents' files (ullage keep on)"
            )
            terminal.press("q")
            assert terminal.end() == 0
        finally:
            terminal.close()
    assert (tmp_path / "s.db.archive").exists() == keeps
    assert ullage("--store", tmp_path / "s.db", "keep", "--json").json["wanted"] is keeps


def test_keeping_is_turned_off_and_on_by_a_command(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    assert "ullage keep on" in ullage("--store", store, "keep", "off").out
    assert ullage("--store", store, "keep", "--json").json["wanted"] is False
    assert "ullage keep off" in ullage("--store", store, "keep", "on").out


def test_keys_open_a_conversation_search_it_and_quit(terminal: Terminal) -> None:
    terminal.until("Why is it wet?")
    terminal.until("q quit")
    terminal.press("\r")
    terminal.until("First line")
    terminal.until("q back")
    terminal.press("q")
    terminal.until("Compacts")
    terminal.press("c")
    terminal.until("What it holds")
    terminal.press("\x1b")
    terminal.until("Compacts")
    terminal.press("/")
    terminal.until("Search: _")
    terminal.press("wet\r")
    terminal.until("#1 user")
    terminal.press("q")
    terminal.until("Compacts")
    terminal.press("q")
    assert terminal.end() == 0


def test_another_size_is_drawn_at_once(terminal: Terminal) -> None:
    terminal.until("q quit")
    terminal.resize(40)
    terminal.until("Full  Title")
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 143)])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    terminal: Terminal, number: signal.Signals, status: int
) -> None:
    terminal.until("q quit")
    terminal.process.send_signal(number)
    assert terminal.end() == status
