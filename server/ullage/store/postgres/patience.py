"""Bounds how long a server that does not answer holds its callers, who call from the event loop.

A server that is gone is noticed at once, one that hangs (a stopped process, a dead disk, a network that swallows) only
by its silence. The first call waits for a bounded time. Then, for a while, calls fail without asking the server.
"""

import logging
from collections.abc import Callable, Generator
from threading import Lock
from time import monotonic
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

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
