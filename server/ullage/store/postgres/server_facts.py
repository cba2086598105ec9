"""What a PostgreSQL server and the store on it are like, for a user who asks whether all is well."""

from functools import partial
from typing import Any

import psycopg
from msgspec import Struct

from ullage.store.postgres.address import name_server, read_address
from ullage.store.postgres.postgres_store import checked_address
from ullage.store.postgres.postgres_tables import VERSION
from ullage.store.postgres.server_errors import reporting
from ullage.store.postgres.transactions import PostgresConnection

# Seconds until a server that does not answer is given up.
_TIMEOUT = 5
_HUNDREDTHS = 100


class ServerFacts(Struct, frozen=True, kw_only=True):
    """A server that answers, and its store.

    - `server`: the host and the database, and `version` that of PostgreSQL.
    - `security`: in words, how the connection is protected.
    - `tables`: the number of migrations that the store has seen, of `known`; 0 if it is not made yet.
    - `sessions` and `size` (bytes) are those of the store; 0 if it is not made yet.
    - `loses`: the settings by which an acknowledged message can be lost, such as `fsync`.
    """

    server: str
    version: str
    security: str
    tables: int
    known: int
    sessions: int
    size: int
    loses: tuple[str, ...]


def read_facts(address: str) -> ServerFacts:
    """Asks a server, and changes nothing. Raises `InvalidRequest` if the address can't be read or contains a password,
    and `StoreUnavailable` if the server can't be used."""
    server = name_server(address)
    read = checked_address(read_address(address))
    connect = partial(psycopg.connect, read, autocommit=True, connect_timeout=_TIMEOUT)
    with reporting(server), connect() as connection:
        tables = _tables(connection)
        sessions, size = _contents(connection) if tables else (0, 0)
        return ServerFacts(
            server=server,
            version=_version(connection.info.server_version),
            security=_security(connection),
            tables=tables,
            known=VERSION,
            sessions=sessions,
            size=size,
            loses=tuple(name for name in ("fsync", "synchronous_commit") if _setting(connection, name) == "off"),
        )


def _tables(connection: PostgresConnection) -> int:
    if not _one(connection, b"SELECT to_regclass('store_version') IS NOT NULL"):
        return 0
    return _one(connection, b"SELECT coalesce(max(version), 0) FROM store_version")


def _contents(connection: PostgresConnection) -> tuple[int, int]:
    size = b"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
    return (
        _one(connection, b"SELECT count(*) FROM sessions WHERE NOT deleted"),
        int(_one(connection, size + b"(SELECT oid FROM pg_namespace WHERE nspname = current_schema())") or 0),
    )


def _security(connection: PostgresConnection) -> str:
    host = connection.info.host
    if not host or host.startswith(("/", "@")):
        return "a socket of this machine"
    if not connection.pgconn.ssl_in_use:
        return "not encrypted"
    protocol = _one(connection, b"SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    mode = connection.info.get_parameters().get("sslmode", "")
    is_known = mode in ("verify-ca", "verify-full")
    return f"{protocol or 'TLS'}, {'its certificate is checked' if is_known else 'its certificate is not checked'}"


def _setting(connection: PostgresConnection, name: str) -> str:
    return _one(connection, f"SHOW {name}".encode())


def _one(connection: PostgresConnection, statement: bytes) -> Any:
    row = connection.execute(statement).fetchone()
    return row[0] if row else None


def _version(number: int) -> str:
    """Returns a version as PostgreSQL writes it: 150004 is 15.4."""
    return f"{number // _HUNDREDTHS**2}.{number % _HUNDREDTHS**2}"
