"""The server of a store in PostgreSQL: its address (`postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTIONS]`), how long it
is waited for, and its errors as Ullage's.

A server that is gone is noticed at once, one that hangs (a stopped process, a dead disk, a network that swallows) only
by its silence. The first call waits for a bounded time. Then, for a while, calls fail without asking the server.
"""

import logging
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import msgspec
import psycopg
from psycopg import errors
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ullage.model.errors import InvalidRequest, StoreUnavailable
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


# Seconds without a byte after which a statement is given up. Locks are waited for half as long (`lock_timeout`), and
# the slowest statements, which index or count, take less than one.
SILENCE = 10
# Seconds after a silence for which calls fail at once.
PAUSE = 10


class ServerSilentError(psycopg.OperationalError):
    """The server did not answer in time."""


class BoundedConnection(psycopg.Connection[TupleRow]):
    """A connection whose statements fail, and which is closed, if the server is silent for too long; if `is_patient` is
    set they wait."""

    is_silent = is_patient = False

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **named: Any) -> Any:
        """Runs a part of a statement, for psycopg. Raises `ServerSilentError`."""
        try:
            return super().wait(gen if self.is_patient else _until_silent(gen), *args, **named)
        except ServerSilentError:
            self.is_silent = True
            self.close()
            raise


def _until_silent(waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Does what the generator does, which psycopg asks again every tenth of a second if the server is silent."""
    until = monotonic() + SILENCE
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if ready:
                until = monotonic() + SILENCE
            elif monotonic() > until:
                raise ServerSilentError(f"no answer for {SILENCE} seconds")
            wanted = waiting.send(ready)
    except StopIteration as end:
        return end.value


class PoolLog(logging.Filter):
    """Takes over the warnings about connections of `kind`, and about pools with the names that it was given. Warnings
    about other pools, which a program may have, stay as they are.

    psycopg's pool writes a warning for each connection that it loses and for each try to make one, so a minute without
    the server would be a page of them. They become details for `--debug`, and the first one says once what is wrong.
    """

    def __init__(self, kind: type[psycopg.Connection]) -> None:
        super().__init__()
        self._kind = kind
        self._lock = Lock()
        # Whether each server was said to be away.
        self._away: dict[str, bool] = {}

    def add(self, server: str) -> None:
        """Takes over the warnings of the pool with this name, which is also its server's."""
        self._away.setdefault(server, False)

    def is_back(self, server: str) -> None:
        """Says that a server answers again, if it was said to be away."""
        if self._away[server] and self._change(server, is_away=False):
            log.warning("%s answers again", server)

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a message of the pool is to be written as it is."""
        values = record.args if isinstance(record.args, tuple) else ()
        server = next((value for value in values if isinstance(value, str) and value in self._away), None)
        if server is None and not any(isinstance(value, self._kind) for value in values):
            return True
        log.debug(record.getMessage())
        error = next((value for value in values if isinstance(value, Exception)), None)
        if server is not None and error is not None and self._change(server, is_away=True):
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            log.warning("%s can't be reached (%s): trying again", server, why)
        return False

    def _change(self, server: str, *, is_away: bool) -> bool:
        """Returns whether it was otherwise before."""
        with self._lock:
            was, self._away[server] = self._away[server], is_away
        return was is not is_away


_LOG = PoolLog(BoundedConnection)
logging.getLogger("psycopg.pool").addFilter(_LOG)


class BoundedPool(ConnectionPool[BoundedConnection]):
    """A pool that lends no connection for a while after the server was silent. Its name is the server's."""

    _paused_until = 0.0
    _answered_at = 0.0

    def __init__(self, address: str, server: str, **named: Any) -> None:
        _LOG.add(server)
        super().__init__(address, name=server, connection_class=BoundedConnection, **named)

    def getconn(self, timeout: float | None = None) -> BoundedConnection:
        """Returns a connection. Raises `PoolTimeout`, at once after a silence."""
        self.require_answers()
        began = monotonic()
        try:
            return super().getconn(timeout)
        except PoolTimeout:
            # Unless others used all connections meanwhile.
            if self._answered_at < began:
                self._paused_until = monotonic() + PAUSE
            raise

    def putconn(self, conn: BoundedConnection) -> None:
        """Takes a connection back."""
        self.notice(conn)
        super().putconn(conn)

    def notice(self, conn: BoundedConnection) -> None:
        """Notices whether the server answered on a connection that was used."""
        if conn.is_silent:
            self._paused_until = monotonic() + PAUSE
        elif not conn.broken:
            self._answered_at = monotonic()
            _LOG.is_back(self.name)

    def guarded(self, connect: Callable[[], BoundedConnection]) -> BoundedConnection:
        """Returns a connection that the pool does not have, unless the server was silent a while ago."""
        self.require_answers()
        return connect()

    def require_answers(self) -> None:
        """Raises `PoolTimeout` if the server was silent a while ago, and `PoolClosed` after the end."""
        if self.closed:
            raise PoolClosed("it was closed by this program")
        if monotonic() < self._paused_until:
            raise PoolTimeout("it was silent a moment ago")


log = logging.getLogger(__name__)


def unavailable(server: str, remedy: str) -> StoreUnavailable:
    """Returns the error for a store, or archive, that cannot be used. `remedy` continues the sentence."""
    return StoreUnavailable(f"{server} {remedy}")


class reporting:  # noqa: N801 - a context manager, used like a function
    """Converts failures of PostgreSQL and of decoding in the `with` block to `StoreUnavailable`, and values that
    PostgreSQL cannot hold to `InvalidRequest`. `server` names the server in messages, without a password. A wrong use
    of PostgreSQL is raised unchanged, because it is a bug."""

    __slots__ = ("_server",)

    def __init__(self, server: str) -> None:
        self._server = server

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None and (ours := _our_error(self._server, error)) is not None:
            raise ours from error


def was_lost(error: StoreUnavailable) -> bool:
    """Returns whether the connection was lost while it was used, so that it is not known what the server still did."""
    cause = error.__cause__
    if not isinstance(cause, psycopg.OperationalError) or isinstance(cause, PoolTimeout):
        return False
    return cause.sqlstate is None or cause.sqlstate[:2] in _LOST


# What is wrong with the server, and what to do. The first class that fits counts.
_REMEDIES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (PoolTimeout, "did not answer: check that the server runs and that its address is right"),
    (PoolClosed, "is closed"),
    (
        (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected),
        "was locked by another process for too long: end that one, or try again",
    ),
    (errors.InsufficientPrivilege, "may not be used: have its owner grant the right"),
    (errors.DiskFull, "has no room left on its disk: free some and try again"),
    (errors.ReadOnlySqlTransaction, "is a read-only replica: give the address of the primary server"),
    (psycopg.OperationalError, "can't be reached: check the server, then try again"),
    ((msgspec.DecodeError, UnicodeDecodeError), "is damaged: restore it from a backup"),
)
# Classes of SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html): the connection's own errors, and
# the server's end.
_LOST = ("08", "57")
# An error at connecting has no SQLSTATE. A server's own one says this, in most languages; these are of a server that
# starts, stops or has no room, and come with the others from PostgreSQL's sources.
_REFUSED = "FATAL:"
_SOON = ("the database system is", "too many clients", "connection slots")


def _our_error(server: str, error: BaseException) -> StoreUnavailable | InvalidRequest | None:
    if isinstance(error, psycopg.DataError):
        return InvalidRequest(f"a value cannot be stored: {_line(error)}")
    if isinstance(error, UnicodeEncodeError):
        return InvalidRequest(f"{error.object!r} is not a name: it holds half a surrogate pair")
    remedy = next((text for kinds, text in _REMEDIES if isinstance(error, kinds)), None)
    if remedy is None:
        return None
    what, colon, then = remedy.partition(":")
    return unavailable(server, f"{what} ({_line(error)}){colon}{then}")


def _line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def is_away(error: StoreUnavailable) -> bool:
    """Returns whether the error says that the server can't be reached for now, such as when it or the network is down.
    A server that answers and refuses is reached."""
    cause = error.__cause__
    if isinstance(cause, (PoolTimeout, PoolClosed)):
        return True
    return was_lost(error) and not (_REFUSED in (text := str(cause)) and not any(one in text for one in _SOON))
