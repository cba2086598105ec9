"""Reads the address of a store in PostgreSQL: `postgresql://[USER@]HOST[:PORT]/DATABASE[?options]`."""

import os
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ullage.model.errors import InvalidRequest

SCHEMES = ("postgresql://", "postgres://")
_LOCAL = ("", "localhost", "127.0.0.1", "::1")


def is_address(place: str) -> bool:
    """Returns whether the place of a store is an address in PostgreSQL, not a file."""
    return place.startswith(SCHEMES)


def read_address(address: str) -> str:
    """Returns the address as libpq takes it. Raises `InvalidRequest` if it contains a password, because addresses are
    in settings and in lists of processes.

    A server on another machine is asked for TLS with a certificate that the machine trusts, unless the address or
    `PGSSLMODE` says otherwise (https://www.postgresql.org/docs/current/libpq-ssl.html).
    """
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or "password" in options:
        raise InvalidRequest(
            "the address of the store contains a password: leave it out, and give it in the environment variable "
            "PGPASSWORD or in the file ~/.pgpass"
        )
    host = options.get("host", parts.hostname or "")
    is_local = host in _LOCAL or host.startswith("/")
    if not is_local and "sslmode" not in options and "PGSSLMODE" not in os.environ:
        options |= {"sslmode": "verify-full"} | ({} if "sslrootcert" in options else {"sslrootcert": "system"})
    query = urlencode(options, quote_via=quote)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")


def name_server(address: str) -> str:
    """Returns the host and database of an address, for messages."""
    parts = urlsplit(address)
    return f"PostgreSQL at {parts.hostname or 'this machine'}{parts.path}"
