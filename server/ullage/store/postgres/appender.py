"""Appends single records with as little besides the server's work as possible.

An append and the notification of it (`ChangeListener`) go to the server together, as a pipeline of two transactions
(https://www.postgresql.org/docs/current/libpq-pipeline-mode.html), and only the append's answer is waited for: the
notification's is read before the next append. What was sent arrives also if this process is killed then.
"""

from collections.abc import Callable, Generator, Sequence
from queue import Empty, LifoQueue
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait
from psycopg_pool import PoolTimeout

from ullage.store.postgres.patience import BoundedConnection, BoundedPool

_APPEND, _NOTIFY = b"ullage_append", b"ullage_notify"
_PREPARE = b"PREPARE ullage_append AS SELECT append_record($1, $2, $3, $4, $5, $6, $7, $8, $9)"
# The payload, the last value, goes as it is, the others as text.
_FORMATS = [*[Format.TEXT] * 8, Format.BINARY]

Value = str | int | bytes | None
# Waits as psycopg does: yields what is waited for, and receives what is ready.
_Waiting = Generator[Wait, Ready, Any]


class Appenders:
    """At most `most` connections that append. Any thread may use it. `connect` makes a connection, and `notify` is the
    statement that publishes a change. The pool knows whether the server answers."""

    def __init__(self, pool: BoundedPool, connect: Callable[[], BoundedConnection], notify: str, most: int) -> None:
        self._pool, self._connect, self._notify, self._most = pool, connect, notify, most
        # The one that was used last is the next: others are made only if several threads append at once.
        self._places: LifoQueue[_Appender | None] = LifoQueue(most)
        for _ in range(most):
            self._places.put(None)

    def append(self, values: Sequence[Value]) -> bool:
        """Calls `append_record` with these values, and publishes the change. Returns whether it has appended. Raises
        psycopg's errors."""
        try:
            appender = self._places.get(timeout=self._pool.timeout)
        except Empty:
            raise PoolTimeout("all connections are in use") from None
        kept: _Appender | None = None
        try:
            self._pool.require_answers()
            appender = appender or _Appender(self._pool.guarded(self._connect), self._notify)
            try:
                appended = appender.append(values)
                kept = appender
            finally:
                self._pool.notice(appender.connection)
            return appended
        finally:
            self._places.put(kept)

    def close(self) -> None:
        """Closes the connections. An append that runs meanwhile ends before."""
        for _ in range(self._most):
            if (appender := self._places.get()) is not None:
                appender.connection.close()
        for _ in range(self._most):
            self._places.put(None)


class _Appender:
    """A connection in pipeline mode. It is closed after any failure, because answers may be missing then."""

    def __init__(self, connection: BoundedConnection, notify: str) -> None:
        self.connection = connection
        connection.execute(_PREPARE)
        connection.execute(b"PREPARE " + _NOTIFY + b" AS " + notify.encode())
        self._server, self._encoding = connection.pgconn, connection.info.encoding
        self._server.enter_pipeline_mode()
        self._is_notifying = False

    def append(self, values: Sequence[Value]) -> bool:
        """Appends and publishes. Returns whether the function has appended."""
        try:
            return self.connection.wait(self._appending([self._encoded(value) for value in values]))
        except BaseException:
            self.connection.close()
            raise

    def _appending(self, values: Sequence[bytes | None]) -> _Waiting:
        server = self._server
        if self._is_notifying:
            yield from _results(server)
        server.send_query_prepared(_APPEND, values, _FORMATS)
        server.pipeline_sync()
        # The server is at work already.
        server.send_query_prepared(_NOTIFY, None)
        server.pipeline_sync()
        while server.flush():
            if (yield Wait.RW) & Ready.R:
                server.consume_input()
        self._is_notifying = True
        results = yield from _results(server)
        for result in results:
            # A commit that fails has a result of its own, after that of the statement.
            if result.status != ExecStatus.TUPLES_OK:
                raise error_from_result(result, self._encoding)
        return results[0].get_value(0, 0) == b"t"

    def _encoded(self, value: Value) -> bytes | None:
        if value is None or isinstance(value, bytes):
            return value
        # As `_NoNulDumper`.
        return str(value).replace("\0", "\\0").encode(self._encoding)


def _results(server: PGconn) -> Generator[Wait, Ready, list[PGresult]]:
    """Returns the results of the next transaction of the pipeline."""
    found: list[PGresult] = []
    while True:
        while server.is_busy():
            if (yield Wait.R):
                server.consume_input()
        result = server.get_result()
        if result is None:
            # After each statement; and for ever if the connection is lost.
            if server.status != ConnStatus.OK:
                raise psycopg.OperationalError(server.get_error_message())
        elif result.status == ExecStatus.PIPELINE_SYNC:
            return found
        else:
            found.append(result)
