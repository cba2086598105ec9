"""Bounds how long a server that does not answer holds its callers, who call from the event loop.

A server that is gone is noticed at once, one that hangs (a stopped process, a dead disk, a network that swallows) only
by its silence. The first call waits for a bounded time. Then, for a while, calls fail without asking the server.
"""

import logging
from collections.abc import Callable, Generator
from time import monotonic
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ullage.store.postgres.pool_log import PoolLog

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
