"""Reads keys from the terminal one by one, without waiting for the end of a line.

A terminal sends a special key as an escape sequence (ECMA-48; xterm's "PC-Style Function Keys"). The sequences are
matched as a whole, so the parts of an unknown one are not taken for keys.
"""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

_SEQUENCE = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|$|(?=\x1b))")
_ARROWS = {"A": "up", "B": "down", "H": "home", "F": "end"}
_NAMES = {
    **{f"\x1b{kind}{letter}": name for kind in "[O" for letter, name in _ARROWS.items()},
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
}
# The second codes of Windows' special keys (`getwch` returns first U+0000 or U+00E0).
_WINDOWS = {"H": "up", "P": "down", "G": "home", "O": "end", "I": "page up", "Q": "page down"}
# Seconds between two questions to Windows, which has no notice of a key.
_ASK_EVERY = 0.05


def key_names(text: str) -> list[str]:
    """Returns the keys in what a terminal has sent: a special key by its name, such as `page down`, any other by its
    character. Unknown sequences are left out."""
    keys: list[str] = []
    while text:
        found = _SEQUENCE.match(text)
        sent = found[0] if found else text[0]
        text = text[len(sent) :]
        name = _NAMES.get(sent, sent)
        if name in _NAMES.values() or (len(name) == 1 and name.isprintable()):
            keys.append(name)
    return keys


@contextmanager
def keys_pressed(press: Callable[[str], object]) -> Generator[None]:
    """Calls `press` with each key while the block runs, in the running event loop. Afterwards the terminal is as it was
    before. Without a terminal on standard input, no key is read."""
    if not sys.stdin.isatty():
        yield
    elif sys.platform == "win32":
        task = asyncio.get_running_loop().create_task(_ask_windows(press))
        try:
            yield
        finally:
            task.cancel()
    else:
        with _read_terminal(press):
            yield


if sys.platform == "win32":
    import msvcrt

    async def _ask_windows(press: Callable[[str], object]) -> None:
        while True:
            while msvcrt.kbhit():
                key = msvcrt.getwch()
                names = [_WINDOWS.get(msvcrt.getwch(), "")] if key in "\x00\xe0" else key_names(key)
                for name in filter(None, names):
                    press(name)
            await asyncio.sleep(_ASK_EVERY)

else:

    @contextmanager
    def _read_terminal(press: Callable[[str], object]) -> Generator[None]:
        # Python may have been built without them.
        import termios  # noqa: PLC0415
        import tty  # noqa: PLC0415

        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)

        def read() -> None:
            try:
                sent = os.read(descriptor, 1024)
            except OSError:
                sent = b""
            if not sent:
                # The terminal is gone.
                loop.remove_reader(descriptor)
            for key in key_names(sent.decode("utf-8", "replace")):
                press(key)

        # Ctrl-C stays a signal.
        tty.setcbreak(descriptor)
        loop.add_reader(descriptor, read)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
