"""Files that a user names."""

from pathlib import Path

from ullage.model.errors import InputError


def read_bytes(path: Path) -> bytes:
    """A file's contents. Raises `InputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Writes a file in UTF-8 with the line ends that `text` has. Raises `InputError`."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
