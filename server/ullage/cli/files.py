"""Files that a person names."""

from pathlib import Path

from ullage.model.errors import InputError


def read_bytes(path: Path) -> bytes:
    """A file's contents. Raises `InputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Writes a file. Raises `InputError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
