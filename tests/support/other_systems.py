"""The rules of systems that no test runs on, as far as a test on Linux can keep them."""

import errno
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unicodedata import normalize

import pytest

from ullage.host import Windows, here

# Names that are devices in every folder, whatever their ending.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}


def _open_files() -> set[str]:
    return {str(one.resolve()) for one in Path("/proc/self/fd").iterdir()}


def _denied(path: object) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@contextmanager
def windows(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Has the rules of Windows while the block runs: no file that is open is replaced or removed, a name in another
    case is the same file, devices are no files, and processes have no signals and no groups."""
    replace, unlink, opened = os.replace, os.unlink, os.open

    def same(path: str) -> str:
        named = Path(path)
        if named.name.partition(".")[0].lower() in _DEVICES:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        there = named.parent.iterdir() if named.parent.is_dir() else ()
        return str(next((one for one in there if one.name.lower() == named.name.lower()), named))

    def demand_closed(path: str) -> str:
        if os.path.realpath(path) in _open_files():
            raise _denied(path)
        return path

    def no_signal(*_: object) -> None:
        raise AssertionError("Windows would have ended the process")

    def move(own: str, path: str) -> None:
        replace(demand_closed(own), demand_closed(same(path)))

    def remove(path: str) -> None:
        unlink(demand_closed(same(path)))

    def open_same(path: str, flags: int, mode: int = 0o777) -> int:
        return opened(same(path), flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(here, "__class__", Windows)
        patch.setattr(Windows, "pause", 0)
        patch.setattr(os, "replace", move)
        patch.setattr(os, "unlink", remove)
        patch.setattr(os, "open", open_same)
        patch.setattr(os, "kill", no_signal)
        patch.setattr(os, "killpg", no_signal)
        patch.setattr(signal, "alarm", no_signal)
        yield


def decomposed(path: Path) -> str:
    """Returns a path as macOS gives back the names of files that were made with whole letters."""
    return normalize("NFD", str(path))
