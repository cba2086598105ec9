"""Opens the archive of agents' files."""

from collections.abc import Generator
from contextlib import contextmanager

from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.store_place import StorePlace, local_path


@contextmanager
def open_originals(store: StorePlace | None) -> Generator[SqliteOriginals | None]:
    """Opens the archive that belongs to a session store (None: the user's) for the block. Yields None if there is no
    archive. Raises `StoreUnavailable` if it can't be used."""
    path = archive_path(local_path(store))
    if not path.exists():
        yield None
        return
    with SqliteOriginals(path) as originals:
        yield originals
