"""Prints results to standard output, writes them to files, asks the user, and shows progress on standard error.

Text for users is printed by a `Screen`, which knows the width, the colours and the pager. Text for programs is UTF-8 in
every locale."""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Self

import msgspec
from rich.console import Console
from rich.text import Text

from ullage.cli.drawing import Glyphs, choose_glyphs, clean, wrap
from ullage.cli.terminal import show_long, visible, wants_color
from ullage.model.errors import InputError

# Columns of a drawing. Fewer hold no figure with its label; more are wider than the eye follows.
NARROWEST, WIDEST = 40, 200
# The name of standard output where a file is expected.
STDOUT = Path("-")
# The room of a table that is not cut: more columns than any table has.
UNCUT = 10_000
# The beginning of a line under which its continuation lines begin: blanks and a list mark.
_INDENT = re.compile(r"\s*(?:[-*] )?")
# Characters of a line that answers a question.
_LONGEST_ANSWER = 1_000


class Screen:
    """Standard output for text that users read.

    `width` is the width of boxes in columns. `room` is the width of tables: in a pipe it is 200 unless COLUMNS is set,
    because a program may read the table.
    """

    def __init__(self, glyphs: Glyphs, width: int, room: int, *, color: bool, pager: bool) -> None:
        self.glyphs = glyphs
        self.width = width
        self.room = room
        self._color = color
        self._pager = pager

    @classmethod
    def of(cls, args: Namespace) -> Self:
        """Returns the screen according to the arguments (`--ascii`, `--color`, `--no-pager`) and the environment."""
        on_terminal = sys.stdout.isatty()
        # While Rich draws in place, standard output is a proxy of its own, which has no encoding.
        out = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
        glyphs = choose_glyphs(out.encoding, os.environ, ascii_only=getattr(args, "ascii", False))
        width = max(NARROWEST, min(WIDEST, get_terminal_size().columns))
        return cls(
            glyphs,
            width,
            width if on_terminal or "COLUMNS" in os.environ else UNCUT,
            color=wants_color(args.color, os.environ, on_terminal=on_terminal),
            pager=on_terminal and sys.stdin.isatty() and not args.no_pager,
        )

    def print(self, lines: Iterable[Text | str]) -> None:
        """Prints lines without wrapping them. Uses the pager if they don't fit on the terminal."""
        text = self._rendered(lines)
        if not (self._pager and show_long(text, os.environ)):
            sys.stdout.write(text)

    def prose(self, text: str) -> Iterator[str]:
        """Yields the lines of a text. On a terminal, long lines are broken between words, never inside a path, and
        their continuation is indented as the line is."""
        for line in text.splitlines():
            if self.room == UNCUT:
                yield clean(line, self.glyphs)
                continue
            indent = _INDENT.match(line)
            start = len(indent[0]) if indent else 0
            broken = wrap(line[start:], max(NARROWEST // 2, self.room - start), self.glyphs, whole_paths=True)
            yield clean(line[:start], self.glyphs) + broken[0]
            yield from (" " * start + more for more in broken[1:])

    def console(self) -> Console:
        """Returns a Rich console for a drawing that changes in place."""
        return Console(highlight=False, markup=False, emoji=False, no_color=not self._color)

    def _rendered(self, lines: Iterable[Text | str]) -> str:
        text = StringIO()
        console = Console(
            file=text,
            force_terminal=self._color,
            color_system="standard" if self._color else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        for line in lines:
            console.print(line, soft_wrap=True)
        return text.getvalue()


def print_json(value: Any) -> None:
    """Prints a value as one indented JSON object in UTF-8."""
    print_bytes(to_json(value))


def print_json_line(value: Any) -> None:
    """Prints one JSON object on one line."""
    print_bytes(msgspec.json.encode(value) + b"\n")


def print_bytes(data: bytes) -> None:
    """Writes bytes to standard output, after everything that was printed as text."""
    sys.stdout.flush()
    # With PYTHONUNBUFFERED, a signal may end a write early: that of a user who stops the program and continues it.
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def to_json(value: Any) -> bytes:
    """Returns a value as indented JSON in UTF-8, with a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


@contextmanager
def working(what: str) -> Generator[Callable[[str], None]]:
    """Shows the text `what` on standard error while the block runs, if standard error is a terminal. Gives the block a
    function that shows another text in its place."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    # As texts: a name in them may have what Rich takes for markup.
    with console.status(Text(visible(what))) as status:
        yield lambda text: status.update(Text(visible(text)))


def write_output(path: Path, data: bytes) -> None:
    """Writes to a file, or to standard output if the path is `-`. Raises `InputError` if a file can't be written."""
    if path == STDOUT:
        print_bytes(data)
    else:
        write_file(path, data)


def require_writable(path: Path) -> None:
    """Raises `InputError` if a file can't be written, before a command changes anything for it. The file stays as it
    is."""
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise _unwritable(path, error) from error
    if not there:
        path.unlink()


def write_file(path: Path, data: bytes) -> None:
    """Writes the data to a file, in place of its contents. A new file may be read by its owner alone, as the store that
    the data is from. Raises `InputError` if that fails."""
    binary = getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | binary, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")


def agreed(question: str, *, by_enter: bool = False, details: Callable[[], None] | None = None) -> bool:
    """Asks the user on the terminal. `by_enter` is what the Enter key alone means; `details` shows more if the user
    answers `d`. Raises `InputError` if there is no terminal."""
    if not sys.stdin.isatty():
        raise InputError(f"{question} There is no terminal to ask on; give --yes")
    sys.stdout.flush()
    more = ", d: details" if details else ""
    sys.stderr.write(f"{question} [{'Y/n' if by_enter else 'y/N'}{more}] ")
    sys.stderr.flush()
    line = sys.stdin.readline(_LONGEST_ANSWER)
    if details and line.strip().lower() == "d":
        details()
        return agreed(question, by_enter=by_enter, details=details)
    # At the end of the input there is no line end.
    return by_enter if line and not line.strip() else line.strip().lower() in ("y", "yes")
