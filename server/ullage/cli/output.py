"""Prints results to standard output, writes them to files, and shows progress on standard error."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from ullage.cli.draw.glyphs import Glyphs, choose_glyphs
from ullage.model.errors import InputError


def terminal_glyphs(*, ascii_only: bool = False) -> Glyphs:
    """Returns the characters that standard output can show."""
    return choose_glyphs(sys.stdout.encoding, os.environ, ascii_only=ascii_only)


def print_lines(lines: Iterable[Text | str]) -> None:
    """Prints lines without wrapping them, in colour on a terminal unless NO_COLOR is set."""
    console = Console(highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(line, soft_wrap=True)


def print_json(value: Any) -> None:
    """Prints one JSON object."""
    sys.stdout.write(to_json(value))


def to_json(value: Any) -> str:
    """Returns a value as indented JSON with a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


@contextmanager
def working(what: str) -> Generator[None]:
    """Shows on standard error that work is running, if standard error is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def write_text(path: Path, text: str) -> None:
    """Writes a file. Raises `InputError` if that fails."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
