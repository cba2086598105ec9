"""Reads the address of a store in PostgreSQL: `postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTIONS]`."""

import os
from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from ullage.model.errors import InvalidRequest
from ullage.model.store_address import PASSWORD_REFUSED

_FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE"
_LOCAL = ("", "localhost", "127.0.0.1", "::1")


def read_address(address: str) -> str:
    """Returns the address as libpq takes it. Raises `InvalidRequest` if it can't be read, or if it contains a password,
    because addresses are in settings and in lists of processes.

    A server on another machine is asked for TLS with a certificate that the machine trusts, unless the address,
    `PGSSLMODE` or a service file says otherwise (https://www.postgresql.org/docs/current/libpq-ssl.html).
    """
    parts = _split(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if ":" in parts.netloc.rpartition("@")[0] or "password" in options:
        raise InvalidRequest(PASSWORD_REFUSED)
    is_chosen = {"sslmode", "service"} & {*options} or {"PGSSLMODE", "PGSERVICE"} & {*os.environ}
    if not is_chosen and not all(one in _LOCAL or one.startswith(("/", "@")) for one in _hosts(parts, options)):
        options |= {"sslmode": "verify-full"} | ({} if "sslrootcert" in options else {"sslrootcert": "system"})
    query = urlencode(options, quote_via=quote)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")


def name_server(address: str) -> str:
    """Returns the hosts and the database of an address, for messages. Raises `InvalidRequest` if it can't be read."""
    parts = _split(address)
    return f"PostgreSQL at {','.join(_named(parts)) or 'this machine'}{parts.path}"


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise InvalidRequest(f"the address of the store can't be read ({error}): write {_FORM}") from error


def _hosts(parts: SplitResult, options: Mapping[str, str]) -> Iterator[str]:
    """Yields the hosts that libpq tries, of the address, else of the environment, separated by commas."""
    yield from (options.get("host") or ",".join(_named(parts)) or os.environ.get("PGHOST", "")).split(",")
    yield from (options.get("hostaddr") or os.environ.get("PGHOSTADDR", "")).split(",")


def _named(parts: SplitResult) -> list[str]:
    """Returns the hosts in the address, without their ports. An IPv6 address is in brackets."""
    places = parts.netloc.rpartition("@")[2].split(",")
    return [place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0] for place in places]
