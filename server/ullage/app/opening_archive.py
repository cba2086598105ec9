"""Opens the archive of agents' files."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.database import default_path


@contextmanager
def open_originals(store: Path | None) -> Generator[SqliteOriginals | None]:
    """Opens the archive that belongs to a session store (None: the user's) for the block. Yields None if there is no
    archive. Raises `StoreUnavailable` if it can't be used."""
    path = archive_path(store or default_path())
    if not path.exists():
        yield None
        return
    with SqliteOriginals(path) as originals:
        yield originals
