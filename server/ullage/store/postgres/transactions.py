"""Transactions on a pool of connections to PostgreSQL, and appends of single records with as little besides the
server's work as possible.

An append and the notification of it (`ChangeListener`) go to the server together, as a pipeline of two transactions
(https://www.postgresql.org/docs/current/libpq-pipeline-mode.html), and only the append's answer is waited for: the
notification's is read before the next append. What was sent arrives also if this process is killed then.
"""

from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from hashlib import blake2b
from queue import Empty, LifoQueue
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import TupleRow
from psycopg.waiting import Ready, Wait
from psycopg_pool import PoolTimeout

from ullage.model.errors import InvalidRequest
from ullage.model.events import Record
from ullage.store.postgres.server import BoundedConnection, BoundedPool, reporting, unavailable
from ullage.store.postgres.text_index import TextIndex
from ullage.store.search.word_index import WordIndex
from ullage.store.tables.session_table import record_rows

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
        """Calls `append_record` and publishes the change. Returns whether it has appended. Raises psycopg's errors."""
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


PostgresConnection = psycopg.Connection[TupleRow]
Pool = BoundedPool

_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Each statement sees what was committed before it, and so what another process wrote while the lock was waited for. The
# locks end with the transaction (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS): writers
# to different sessions run side by side; those who change which sessions depend on which run alone. One text is one
# round trip.
_WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock_shared(%d), pg_advisory_xact_lock(%d)"
# Bytes in lists are sent as they are (`%b`), not as text.
_APPEND_SEVERAL = "SELECT append_records(%s, %s, %s, %s, %s::bigint[], %s::text[], %s::bigint[], %s::text[], %b)"
_WRITE_ALONE = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(%d)"


def begin_alone(schema: str) -> bytes:
    """Returns the statement that begins a transaction in which no other one writes to the store in a schema."""
    return _WRITE_ALONE % _lock_key(schema)


class PoolTransactions:
    """The transactions of a store in a schema, each on a connection of the pool, which has the server's name; single
    records are appended by `appenders`. `publish` says to other openings of the store that something changed. With
    `is_team` they only read, also what others share."""

    def __init__(
        self, pool: Pool, appenders: Appenders, schema: str, publish: Callable[[], None], *, is_team: bool
    ) -> None:
        self._pool, self._appenders, self._schema, self._publish = pool, appenders, schema, publish
        self._server, self._is_team = pool.name, is_team

    def reading(self) -> "PoolTransaction":
        return self._begun(_READ)

    def writing_to(self, session_id: str) -> "PoolTransaction":
        """Returns a transaction that writes to one session. No other one writes to it meanwhile."""
        self._require_own()
        return self._begun(self._locking("session", session_id), self._publish)

    def writing(self) -> "PoolTransaction":
        """Returns a transaction that writes to the index of words. No other one writes to it meanwhile."""
        self._require_own()
        return self._begun(self._locking("index"))

    def writing_alone(self) -> "PoolTransaction":
        """Returns a transaction in which no other one writes to the store."""
        self._require_own()
        return self._begun(begin_alone(self._schema), self._publish)

    def append(self, session_id: str, records: Sequence[Record]) -> bool:
        """Appends records to a session's log in one statement, if they continue it and say nothing that the table of
        sessions holds. Returns whether they were appended; nothing else was done then."""
        self._require_own()
        rows = [row[2:] for row in record_rows(session_id, 0, records)]
        locks = _lock_key(self._schema), _lock_key(self._schema, "session", session_id)
        where = (*locks, session_id, records[0].position)
        with reporting(self._server):
            if len(rows) == 1:
                return self._appenders.append((*where, *rows[0]))
            return self._append_several((*where, *map(list, zip(*rows, strict=True))))

    def _append_several(self, values: Sequence[Any]) -> bool:
        connection = self._pool.getconn()
        try:
            is_appended = connection.execute(_APPEND_SEVERAL, values).fetchone() == (True,)
        finally:
            self._pool.putconn(connection)
        if is_appended:
            self._publish()
        return is_appended

    def _locking(self, *names: str) -> bytes:
        return _WRITE % (_lock_key(self._schema), _lock_key(self._schema, *names))

    def _begun(self, begin: bytes, publish: Callable[[], None] | None = None) -> "PoolTransaction":
        return PoolTransaction(self._pool, self._server, begin, publish)

    def _require_own(self) -> None:
        if self._is_team:
            raise InvalidRequest("what others share is read only: open your own sessions to change them")


class PoolTransaction:
    """Runs the `with` block as one transaction on a connection of the pool, which is rolled back if the block raises.
    Failures are raised as Ullage's errors.

    `begin` is the statement that begins the transaction. A connection that the server has closed meanwhile, as at its
    restart, fails there; then another is taken. `publish` is called after the commit.
    """

    __slots__ = ("_begin", "_pool", "_publish", "_reporting", "_server", "_taken")

    def __init__(self, pool: Pool, server: str, begin: bytes, publish: Callable[[], None] | None) -> None:
        self._pool, self._server, self._begin, self._publish = pool, server, begin, publish
        self._reporting = reporting(server)
        self._taken: BoundedConnection | None = None

    def __enter__(self) -> WordIndex:
        with self._reporting:
            self._taken = self._take()
        return TextIndex(self._taken)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        taken, self._taken = self._taken, None
        assert taken is not None
        try:
            with self._reporting:
                if error is None:
                    commit(taken, self._server)
                elif not taken.closed:
                    taken.execute(b"ROLLBACK")
        finally:
            self._pool.putconn(taken)
            self._reporting.__exit__(kind, error, trace)
        if error is None and self._publish is not None:
            self._publish()

    def _take(self) -> BoundedConnection:
        # Each idle connection of the pool may be one that the server has closed.
        for left in reversed(range(self._pool.max_size + 1)):
            taken = self._pool.getconn()
            try:
                taken.execute(self._begin)
            except psycopg.OperationalError:
                was_closed = taken.broken
                self._pool.putconn(taken)
                if not was_closed or not left:
                    raise
            except BaseException:
                self._pool.putconn(taken)
                raise
            else:
                return taken
        raise AssertionError("the last try returns or raises")


def commit(connection: PostgresConnection, server: str) -> None:
    """Commits. Raises `StoreUnavailable` if the server rolled back, silently, after a failed statement."""
    committed = connection.execute(b"COMMIT")
    if committed.statusmessage != "COMMIT":
        raise unavailable(server, f"has not committed ({committed.statusmessage}): try again")


# Appends ask for the same ones again and again.
@lru_cache(maxsize=1_024)
def _lock_key(*names: str) -> int:
    """Returns the number of a lock, 64 bits with a sign, from the names of what it locks."""
    digest = blake2b("\0".join(("ullage", *names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), signed=True)
