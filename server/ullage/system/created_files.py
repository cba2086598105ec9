"""Makes files for other programs."""

import os
from contextlib import suppress
from pathlib import Path

from ullage.model.errors import InvalidRequest


def create_file(path: str, data: bytes) -> None:
    """Makes a file that only the user may read, and its folders. The file appears whole or not at all. Raises
    `InvalidRequest` if there is such a file, which is not changed, or if it can't be written."""
    place = Path(path)
    own = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: no folder {place.parent} can be made") from error
    try:
        _link(own, place, data)
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already, and is not written over") from None
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error.strerror or error}") from error


def _link(own: Path, place: Path, data: bytes) -> None:
    """Writes a file under a name of its own and then gives it the wanted one. Raises `OSError`."""
    try:
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link never takes the place of a file.
        os.link(own, place)
    finally:
        with suppress(FileNotFoundError):
            own.unlink()
