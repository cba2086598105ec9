"""Where a session store is: in a file, or in a PostgreSQL database."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from ullage.host.side_files import OFFLINE, beside
from ullage.model.errors import StoreUnavailable
from ullage.model.settings import OfflineSettings
from ullage.model.store_address import is_address, local_name
from ullage.model.words import package_missing
from ullage.service.ports.store import SessionStore, TakesNews, no_news
from ullage.store.sqlite.database import default_path
from ullage.store.sqlite.sqlite_store import open_store, open_to_read
from ullage.store.table_store import TableStore

# A file, or an address in PostgreSQL.
StorePlace = Path | str


def open_store_at(place: StorePlace | None = None) -> TableStore:
    """Opens the store in a file, or at an address in PostgreSQL (`postgresql://…`), by default in the user's data
    folder.

    Raises `StoreTooNew` if a newer Ullage wrote it, `StoreUnavailable` if it can't be used or the Python package for
    PostgreSQL isn't installed, and `InvalidRequest` if the address contains a password.
    """
    if not isinstance(place, str) or not is_address(place):
        return open_store(place if place is None else Path(place))
    with _needing_package():
        # Imported on use: it takes 100 ms, and few have it.
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415
    return open_postgres(place)


def open_sessions_at(
    place: StorePlace | None = None,
    *,
    to_read: bool = False,
    keeps_files: bool = False,
    offline: OfflineSettings | None = None,
) -> AbstractContextManager[SessionStore]:
    """Opens the store at a place for work on its sessions: as `open_store_at` does, or with `to_read` as
    `open_to_read_at`, but at an address in PostgreSQL with a copy on this machine for times without the server
    (`offline/`). `news_of` says what happened to it.

    `keeps_files` is for a process that follows agents; see `CopyOptions`. `offline` are the settings of the copy. If it
    is off, none is made; one that is there is used until all of it is sent. Raises what `open_store_at` does.
    """
    if not isinstance(place, str) or not is_address(place):
        return open_to_read_at(place) if to_read else open_store_at(place)
    with _needing_package():
        from ullage.store.offline.offline_store import (  # noqa: PLC0415
            CopyOptions,
            Server,
            has_unsent,
            open_offline_store,
        )
        from ullage.store.postgres.server import is_away, name_server  # noqa: PLC0415
    path, offline = offline_path(place), offline or OfflineSettings()
    if not offline.enabled and not has_unsent(path):
        return open_store_at(place)
    server = Server(name_server(place), partial(open_store_at, place), is_away)
    return open_offline_store(server, path, CopyOptions(keeps_files=keeps_files, limit=offline.most_bytes))


def offline_path(place: str) -> Path:
    """Returns the file with this machine's copy of the store at an address in PostgreSQL."""
    return beside(local_path(place), OFFLINE)


def news_of(store: SessionStore) -> TakesNews:
    """Returns what says of times without the server what happened, for a store that `open_sessions_at` opened."""
    return getattr(store, "take_news", no_news)


@contextmanager
def _needing_package() -> Generator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a store in PostgreSQL", "psycopg", "postgres")) from error


@contextmanager
def open_to_read_at(place: StorePlace | None = None) -> Generator[TableStore]:
    """Opens the store for a caller that changes nothing, and yields it. A missing file is read as an empty store, see
    `open_to_read`. Raises what `open_store_at` does."""
    if isinstance(place, str) and is_address(place):
        with open_store_at(place) as store:
            yield store
    else:
        with open_to_read(place if place is None else Path(place)) as store:
            yield store


def local_path(place: StorePlace | None) -> Path:
    """Returns the path with which the files begin that this machine keeps next to a store: the store's own file, or for
    an address in PostgreSQL a name in the user's data folder, where there is no such file."""
    if isinstance(place, str) and is_address(place):
        return default_path().with_name(local_name(place))
    return Path(place) if place is not None else default_path()


def may_write(place: StorePlace | None) -> bool:
    """Returns whether the user may write, or make, the store at a place. A server isn't asked."""
    path = local_path(place)
    if isinstance(place, str) and is_address(place):
        return True
    folder = next((one for one in path.parents if os.path.exists(one)), path.parent)  # noqa: PTH110 - some can't be read
    is_writable = os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)  # noqa: PTH112
    return is_writable and (not path.exists() or os.access(path, os.W_OK))


def is_there(place: StorePlace | None) -> bool:
    """Returns whether there may be a store at a place: a missing file has none. A server isn't asked."""
    return (isinstance(place, str) and is_address(place)) or local_path(place).exists()
