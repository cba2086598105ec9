"""The session store in PostgreSQL. Other processes' changes arrive by its notifications: nothing polls the tables.

Sessions are shared with other roles of the database: which session is in which workspace, and who is a member. A
workspace is a name of its owner's. It is not made: it is there as soon as a session or a member is in it. What members
see and may do is decided by PostgreSQL, see `postgres_tables.py`.

An append and the notification of it (`ChangeListener`) go to the server together, as a pipeline of two transactions
(https://www.postgresql.org/docs/current/libpq-pipeline-mode.html), and only the append's answer is waited for: the
notification's is read before the next append. What was sent arrives also if this process is killed then."""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from hashlib import blake2b
from os import urandom
from queue import Empty, LifoQueue
from select import select
from threading import Lock
from typing import Any, Self

import psycopg
from msgspec import Struct
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import TupleRow
from psycopg.types.string import StrDumper
from psycopg.waiting import Ready, Wait
from psycopg_pool import PoolTimeout

from ullage.model.errors import InvalidRequest, SessionNotFound, StoreUnavailable
from ullage.model.events import Record
from ullage.store.postgres.postgres_tables import VERSION, is_current, migrate
from ullage.store.postgres.server import (
    BoundedConnection,
    BoundedPool,
    name_server,
    read_address,
    reporting,
    unavailable,
    was_lost,
)
from ullage.store.postgres.text_index import SharedSql, TextIndex
from ullage.store.search.searcher import Searcher
from ullage.store.search.word_index import WordIndex
from ullage.store.table_store import TableStore
from ullage.store.tables.session_table import Connection, changes_facts, check_positions, record_rows, require_session

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


# Seconds that a notification may take before the connection is taken for lost.
_PATIENCE = 1


class ChangeListener:
    """Counts the changes that other openings of the store publish, and publishes this one's (https://www.postgresql.org/docs/current/sql-notify.html).
    `connect` makes a connection of its own for it. Any thread may use it."""

    def __init__(self, connect: Callable[[], PostgresConnection], schema: str) -> None:
        self._connect = connect
        # A channel is of the whole database, and its name has at most 63 bytes.
        self._channel = "ullage_" + blake2b(schema.encode(), digest_size=8).hexdigest()
        self._me = urandom(8).hex()
        # The statement that publishes a change.
        self.notify = f"SELECT pg_notify('{self._channel}', '{self._me}')"
        self._lock, self._publishing = Lock(), Lock()
        self._connection: PostgresConnection | None = None
        self._publisher: PostgresConnection | None = None
        self._count = 0

    def count(self) -> int:
        """Returns a number that is another one after a change by another opening. Asks the server nothing."""
        with self._lock:
            if self._connection is None or self._connection.closed:
                # What was published without a listening connection is not known.
                self._count += 1
                self._connection = self._connect()
                self._connection.execute(f"LISTEN {self._channel}".encode())
            try:
                heard = [notice.payload for notice in self._connection.notifies(timeout=0)]
            except psycopg.OperationalError:
                self._connection.close()
                self._count += 1
            else:
                self._count += any(payload != self._me for payload in heard)
            return self._count

    def publish(self) -> None:
        """Publishes to the other openings that this one has changed something. To be called after the commit: a
        notification within a transaction makes all commits of a database wait for each other.

        Sends on a connection of its own and doesn't wait for the answer, which is read before the next one is sent. So
        it costs an append a few microseconds, and what was sent arrives even if this process is killed then.
        """
        with self._publishing:
            try:
                publisher = self._publisher = self._publisher or self._connect()
                sender = publisher.pgconn
                while sender.is_busy():
                    if not select([sender.socket], (), (), _PATIENCE)[0]:
                        raise psycopg.OperationalError("the last notification was not taken")
                    sender.consume_input()
                while sender.get_result() is not None:
                    pass
                sender.send_query(self.notify.encode())
                sender.flush()
            except psycopg.OperationalError:
                # The change is made, and an opening that lost its connection takes all for changed.
                self._drop_publisher()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
        with self._publishing:
            self._drop_publisher()

    def _drop_publisher(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None


# Connections of one process. A store's owner uses one, its search and its readers in threads use others.
_MOST_CONNECTIONS = 4
# Seconds that are waited for a connection, and for another process's lock, as with SQLite (`BUSY_TIMEOUT`).
_TIMEOUT = 5


def open_postgres(address: str, *, is_team: bool = False) -> "PostgresStore":
    """Opens the store at an address (`postgresql://…`) and makes its tables if they are missing. With `is_team` the
    store can only be read, and has also the sessions that others share with the address's user.

    Raises `InvalidRequest` if the address can't be read or contains a password, `StoreTooNew` if a newer Ullage wrote
    the tables, and `StoreUnavailable` if the server can't be used.
    """
    return PostgresStore(checked_address(read_address(address)), name_server(address), is_team=is_team)


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

    With `is_team` it has also the sessions that others share, and can only be read: its index is made by their owners.
    A search then finds only what is shared, by others or by the user.
    """

    def __init__(self, address: str, server: str, *, is_team: bool = False) -> None:
        self._reporting, self._is_team = reporting(server), is_team
        configure = partial(_configure, is_team=is_team)
        connect = partial(_connect, address, configure)
        with self._reporting, connect() as first:
            row = first.execute(b"SELECT current_schema()").fetchone()
            if row is None or row[0] is None:
                raise psycopg.OperationalError("the search path names no schema that this role may use")
            schema = row[0]
            tables = SharedSql(first)
            if not is_current(tables):
                # A million messages take minutes.
                first.is_patient = True
                first.execute(begin_alone(schema))
                migrate(tables)
                first.execute(b"COMMIT")
        self._pool: Pool = BoundedPool(
            address,
            server,
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            timeout=_TIMEOUT,
            kwargs={"autocommit": True, "connect_timeout": _TIMEOUT},
            configure=configure,
            open=True,
        )
        with self._reporting:
            # Else a second connection would be made for the first statement, and they would be lent in turns.
            self._pool.wait(_TIMEOUT)
        self._changes = ChangeListener(partial(self._pool.guarded, connect), schema)
        self._appenders = Appenders(self._pool, connect, self._changes.notify, _MOST_CONNECTIONS)
        self._transactions = PoolTransactions(
            self._pool, self._appenders, schema, self._changes.publish, is_team=is_team
        )
        self._searcher = Searcher(self._transactions)

    def close(self) -> None:
        """Closes the store's connections. The store can't be used afterwards."""
        self._changes.close()
        self._pool.close()
        self._appenders.close()

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        self._write_once(partial(super().create, session_id, records), session_id, records)

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        self._write_once(partial(self._append, session_id, records), session_id, records)

    def index_some(self, session_id: str | None = None) -> int:
        return 0 if self._is_team else super().index_some(session_id)

    def share(self, session_id: str, workspace: str | None) -> None:
        """Puts a session into a workspace, whose members can read it, or with None into none. Raises `InvalidRequest`
        if a fork would be shared without the session whose messages it begins with."""
        with self._writing_alone() as connection:
            require_session(connection, session_id)
            if workspace is None:
                query = "SELECT session_id FROM sessions WHERE parent_id = ? AND workspace IS NOT NULL AND NOT deleted"
                fork = connection.execute(query, (session_id,)).fetchone()
                if fork is not None:
                    raise InvalidRequest(
                        f"session {fork[0]} is shared and begins with messages of {session_id}: end that first"
                    )
            else:
                query = (
                    "SELECT p.session_id FROM sessions s JOIN sessions p ON p.session_id = s.parent_id "
                    "WHERE s.session_id = ? AND p.workspace IS DISTINCT FROM ?"
                )
                parent = connection.execute(query, (session_id, workspace)).fetchone()
                if parent is not None:
                    raise InvalidRequest(
                        f"session {session_id} begins with messages of {parent[0]}: share that one first"
                    )
            moving = "UPDATE sessions SET workspace = ? WHERE session_id = ? RETURNING indexed_position"
            counting = _COUNT.format("s.session_id = ? AND s.indexed_position >= 0")
            connection.execute(counting, (-1, session_id))
            if connection.execute(moving, (workspace, session_id)).fetchone() != (-1,):
                connection.execute(counting, (1, session_id))
                connection.execute("DELETE FROM message_vocabulary WHERE owner = current_user AND rows <= 0")

    def set_members(self, workspace: str, members: Collection[str]) -> None:
        """Shares a workspace with these roles, or groups of roles, of the database and with no others."""
        with self._writing(workspace) as connection:
            connection.execute(
                "DELETE FROM sharing WHERE owner = current_user AND workspace = ? AND NOT member = ANY(?)",
                (workspace, [*members]),
            )
            connection.executemany(
                "INSERT INTO sharing (workspace, member) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(workspace, member) for member in members],
            )

    def shared_in(self, workspace: str) -> tuple[str, ...]:
        """Returns the ids of the own sessions in a workspace."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT session_id FROM sessions WHERE owner = current_user AND workspace = ? AND NOT deleted",
                (workspace,),
            )
            return tuple(session_id for (session_id,) in rows)

    def forget_words(self) -> None:
        """Deletes words from the vocabulary of the search that only deleted sessions had."""
        with self._transactions.writing() as connection:
            connection.execute("DELETE FROM message_vocabulary WHERE owner = current_user")
            connection.execute(_COUNT.format("TRUE"), (1,))

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        """Does nothing: rows and words are gone, and the server reuses their room (`autovacuum`)."""
        del rewrite

    def owner(self, session_id: str) -> tuple[str, str | None]:
        """Returns the role whose a session is, and the session's workspace. Raises `SessionNotFound`."""
        with self.reading() as connection:
            require_session(connection, session_id)
            return connection.execute(
                "SELECT owner, workspace FROM sessions WHERE session_id = ?", (session_id,)
            ).fetchone()

    def version(self) -> int:
        with self._reporting:
            return self._changes.count()

    def reading(self) -> AbstractContextManager[Connection]:
        return self._transactions.reading()

    def _reading_apart(self) -> AbstractContextManager[Connection]:
        return self._transactions.reading()

    def _writing(self, session_id: str, /) -> AbstractContextManager[Connection]:
        return self._transactions.writing_to(session_id)

    def _writing_alone(self) -> AbstractContextManager[WordIndex]:
        return self._transactions.writing_alone()

    def _append(self, session_id: str, records: Sequence[Record]) -> None:
        if records:
            check_positions(session_id, records[0].position, records)
        if not records or changes_facts(records) or not self._transactions.append(session_id, records):
            # This also says what is wrong, if records were not appended.
            super().append(session_id, records)

    def _write_once(self, write: Callable[[], None], session_id: str, records: Sequence[Record]) -> None:
        """Writes records; if the connection was lost, finds out whether they are written, and writes them if not."""
        # Each idle connection of the pool may be one that the server has closed.
        for left in reversed(range(_MOST_CONNECTIONS + 1)):
            try:
                write()
            except StoreUnavailable as error:
                if not was_lost(error) or not left:
                    raise
                if self._has(session_id, records):
                    return
            else:
                return

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


class _WholeCursor(psycopg.Cursor[TupleRow]):
    """A cursor that makes all rows at once, which it has read already: row by row takes several times as long."""

    def __iter__(self) -> Self:
        self._made = iter(self.fetchall())
        return self

    def __next__(self) -> TupleRow:
        return next(self._made)


def _connect(address: str, configure: Callable[[PostgresConnection], None]) -> BoundedConnection:
    connection = BoundedConnection.connect(address, autocommit=True, connect_timeout=_TIMEOUT)
    configure(connection)
    return connection


def _configure(connection: PostgresConnection, *, is_team: bool) -> None:
    connection.execute(f"SET lock_timeout = '{_TIMEOUT}s'".encode())
    connection.execute(b"SET application_name = 'ullage'")
    connection.execute(f"SET ullage.team = '{'on' if is_team else 'off'}'".encode())
    connection.adapters.register_dumper(str, _NoNulDumper)
    connection.cursor_factory = _WholeCursor


# Adds the rows of each word, and all rows, to the vocabulary of their workspace, or with -1 takes them away.
_COUNT = """
    INSERT INTO message_vocabulary AS v (workspace, word, rows)
    SELECT coalesce(s.workspace, ''), word, ? * count(*)
    FROM sessions s JOIN message_words w ON w.session_id = s.session_id,
        unnest(tsvector_to_array(w.tokens) || ARRAY['']) AS word
    WHERE s.owner = current_user AND {} GROUP BY coalesce(s.workspace, ''), word
    ON CONFLICT (word, owner, workspace) DO UPDATE SET rows = v.rows + excluded.rows
"""


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
