"""Replaces whole files, so that a reader sees the old one or the new one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ullage.model.errors import StoreUnavailable


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file at once as a whole by one that only the user may read. Raises `StoreUnavailable`; the old file is
    then kept."""
    try:
        # `mkstemp` makes a file that only the user may read.
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        # On Windows a file can't be replaced while another process reads it.
        raise StoreUnavailable(f"cannot write {path}: {error.strerror or error}") from error
