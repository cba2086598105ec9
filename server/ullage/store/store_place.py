"""Where a session store is: in a file, or in a PostgreSQL database."""

from pathlib import Path

from ullage.model.errors import StoreUnavailable
from ullage.model.words import package_missing
from ullage.store.postgres.address import is_address
from ullage.store.sqlite.sqlite_store import open_store
from ullage.store.table_store import TableStore


def open_store_at(place: Path | str | None = None) -> TableStore:
    """Opens the store in a file, or at an address in PostgreSQL (`postgresql://…`), by default in the user's data
    folder.

    Raises `StoreTooNew` if a newer Ullage wrote it, `StoreUnavailable` if it can't be used or the Python package for
    PostgreSQL isn't installed, and `InvalidRequest` if the address contains a password.
    """
    if not isinstance(place, str) or not is_address(place):
        return open_store(place if place is None else Path(place))
    try:
        # Imported on use: it takes 100 ms, and few have it.
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a store in PostgreSQL", "psycopg", "postgres")) from error
    return open_postgres(place)
