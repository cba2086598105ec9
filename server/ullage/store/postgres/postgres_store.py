"""The session store in PostgreSQL."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

import psycopg
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool

from ullage.model.errors import InvalidRequest, SessionNotFound, StoreUnavailable
from ullage.model.events import Record
from ullage.store.postgres.address import name_server, read_address
from ullage.store.postgres.change_listener import ChangeListener
from ullage.store.postgres.postgres_tables import migrate
from ullage.store.postgres.server_errors import reporting, was_lost
from ullage.store.postgres.text_index import TextIndex
from ullage.store.postgres.transactions import Pool, PoolTransactions, PostgresConnection, begin_alone
from ullage.store.search.searcher import Searcher
from ullage.store.search.word_index import WordIndex
from ullage.store.table_store import TableStore
from ullage.store.tables.connection import Connection

# Connections of one process. A store's owner uses one, its search and its readers in threads use others.
_MOST_CONNECTIONS = 4
# Seconds that are waited for a connection, and for another process's lock, as with SQLite (`BUSY_TIMEOUT`).
_TIMEOUT = 5


def open_postgres(address: str) -> "PostgresStore":
    """Opens the store at an address (`postgresql://…`) and makes its tables if they are missing.

    Raises `InvalidRequest` if the address can't be read or contains a password, `StoreTooNew` if a newer Ullage wrote
    the tables, and `StoreUnavailable` if the server can't be used.
    """
    return PostgresStore(checked_address(read_address(address)), name_server(address))


def checked_address(read: str) -> str:
    """Returns an address that libpq can read. Raises `InvalidRequest` if it can't, such as for an unknown option."""
    try:
        conninfo_to_dict(read)
    except psycopg.ProgrammingError as error:
        raise InvalidRequest(f"the address of the store can't be read: {str(error).strip()}") from error
    return read


class PostgresStore(TableStore):
    """The session store in a schema of a PostgreSQL database, for any number of threads, processes and machines.

    An append that returned survives the death of the process, and that of the server if the server's `fsync` and
    `synchronous_commit` are on, as they are by default. If the connection is lost during an append, the store waits a
    few seconds for the server and finds out whether the append was made.
    """

    def __init__(self, address: str, server: str) -> None:
        self._reporting = reporting(server)
        connect = partial(_connect, address)
        with self._reporting, connect() as first:
            schema = _current_schema(first)
            first.execute(begin_alone(schema))
            migrate(TextIndex(first))
            first.execute(b"COMMIT")
        self._changes = ChangeListener(connect, schema)
        self._pool: Pool = ConnectionPool(
            address,
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            timeout=_TIMEOUT,
            kwargs={"autocommit": True},
            configure=_configure,
            open=True,
        )
        self._transactions = PoolTransactions(self._pool, server, schema, self._changes.notice)
        self._searcher = Searcher(self._transactions)

    def close(self) -> None:
        """Closes the store's connections. The store can't be used afterwards."""
        self._changes.close()
        self._pool.close()

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        """Creates a session's log with its first records; see `SessionStore.create`."""
        self._write_once(partial(super().create, session_id, records), session_id, records)

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        """Appends all records to a session's log, or none; see `SessionStore.append`."""
        self._write_once(partial(super().append, session_id, records), session_id, records)

    def version(self) -> int:
        """Returns a number that changes when another opening writes to the store; see `SessionStore.version`."""
        with self._reporting:
            return self._changes.count()

    def _reading(self) -> AbstractContextManager[Connection]:
        return self._transactions.reading()

    def _reading_apart(self) -> AbstractContextManager[Connection]:
        return self._transactions.reading()

    def _writing(self, session_id: str, /) -> AbstractContextManager[Connection]:
        return self._transactions.writing_to(session_id)

    def _writing_alone(self) -> AbstractContextManager[WordIndex]:
        return self._transactions.writing_alone()

    def _write_once(self, write: Callable[[], None], session_id: str, records: Sequence[Record]) -> None:
        """Writes records, and if the connection was lost meanwhile, finds out whether they are written, and writes them
        again if not."""
        try:
            write()
        except StoreUnavailable as error:
            if not was_lost(error):
                raise
            if not self._has(session_id, records):
                write()

    def _has(self, session_id: str, records: Sequence[Record]) -> bool:
        """Returns whether the session's log contains exactly these records at their positions."""
        try:
            return self.read(session_id, records[0].position, records[-1].position + 1) == tuple(records)
        except SessionNotFound:
            return False


class _NoNulDumper(StrDumper):
    r"""Writes the character NUL as `\0`: a text of PostgreSQL cannot contain it."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\\0"))


def _connect(address: str) -> PostgresConnection:
    connection = psycopg.connect(address, autocommit=True, connect_timeout=_TIMEOUT)
    _configure(connection)
    return connection


def _configure(connection: PostgresConnection) -> None:
    connection.execute(f"SET lock_timeout = '{_TIMEOUT}s'".encode())
    connection.execute(b"SET application_name = 'ullage'")
    connection.adapters.register_dumper(str, _NoNulDumper)


def _current_schema(connection: PostgresConnection) -> str:
    row = connection.execute(b"SELECT current_schema()").fetchone()
    if row is None or row[0] is None:
        raise psycopg.OperationalError("the search path names no schema that exists")
    return row[0]
