"""Transactions on a pool of connections to PostgreSQL."""

from hashlib import blake2b

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from ullage.model.errors import InvalidRequest
from ullage.store.postgres.server_errors import reporting, unavailable
from ullage.store.postgres.text_index import Sight, TextIndex
from ullage.store.search.word_index import WordIndex

PostgresConnection = psycopg.Connection[TupleRow]
Pool = ConnectionPool[PostgresConnection]

_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Each statement sees what was committed before it, and so what another process wrote while the lock was waited for. The
# locks end with the transaction (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS): writers
# to different sessions run side by side; those who change which sessions depend on which run alone. One text is one
# round trip.
_WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock_shared(%d), pg_advisory_xact_lock(%d)"
_WRITE_ALONE = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(%d)"


def begin_alone(schema: str) -> bytes:
    """Returns the statement that begins a transaction in which no other one writes to the store in a schema."""
    return _WRITE_ALONE % _lock_key(schema)


class PoolTransactions:
    """The transactions of a store in a schema, each on a connection of the pool. `notice` is the statement that
    publishes a change to other openings of the store, and `sight` which rows the role sees."""

    def __init__(self, pool: Pool, server: str, schema: str, notice: bytes, sight: Sight) -> None:
        self._pool, self._server, self._schema, self._notice = pool, server, schema, notice
        self._sight = sight

    def reading(self) -> "PoolTransaction":
        """Returns a transaction in which all reads see one state."""
        return self._begun(_READ)

    def writing_to(self, session_id: str) -> "PoolTransaction":
        """Returns a transaction that writes to one session. No other one writes to it meanwhile."""
        return self._locked("session", session_id, notice=self._notice)

    def writing(self) -> "PoolTransaction":
        """Returns a transaction that writes to the index of words. No other one writes to it meanwhile."""
        return self._locked("index")

    def writing_alone(self) -> "PoolTransaction":
        """Returns a transaction in which no other one writes to the store."""
        self._require_own()
        return self._begun(begin_alone(self._schema), self._notice)

    def _locked(self, *names: str, notice: bytes = b"") -> "PoolTransaction":
        self._require_own()
        return self._begun(_WRITE % (_lock_key(self._schema), _lock_key(self._schema, *names)), notice)

    def _begun(self, begin: bytes, notice: bytes = b"") -> "PoolTransaction":
        return PoolTransaction(self._pool, self._server, begin, self._sight, notice)

    def _require_own(self) -> None:
        if self._sight.is_team:
            raise InvalidRequest("what others share is read only: open your own sessions to change them")


class PoolTransaction:
    """Runs the `with` block as one transaction on a connection of the pool, which is rolled back if the block raises.
    Failures are raised as Ullage's errors.

    `begin` is the statement that begins the transaction. A connection that the server has closed meanwhile, as at its
    restart, fails there; then another is taken. `notice` is a statement that is run after the commit, in the same
    round trip.
    """

    __slots__ = ("_begin", "_notice", "_pool", "_reporting", "_server", "_sight", "_taken")

    def __init__(self, pool: Pool, server: str, begin: bytes, sight: Sight, notice: bytes = b"") -> None:
        self._pool, self._server, self._begin, self._sight, self._notice = pool, server, begin, sight, notice
        self._reporting = reporting(server)
        self._taken: PostgresConnection | None = None

    def __enter__(self) -> WordIndex:
        with self._reporting:
            self._taken = self._take()
        return TextIndex(self._taken, self._sight)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        taken, self._taken = self._taken, None
        assert taken is not None
        try:
            with self._reporting:
                if error is None:
                    commit(taken, self._server, self._notice)
                elif not taken.closed:
                    taken.execute(b"ROLLBACK")
        finally:
            self._pool.putconn(taken)
            self._reporting.__exit__(kind, error, trace)

    def _take(self) -> PostgresConnection:
        """Returns a connection on which the transaction has begun."""
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


def commit(connection: PostgresConnection, server: str, notice: bytes = b"") -> None:
    """Commits, or raises `StoreUnavailable` if the server has rolled back, which it does without an error after a
    statement that failed. Then runs the statement `notice`, in the same round trip."""
    committed = connection.execute(b"COMMIT; " + notice if notice else b"COMMIT")
    if committed.statusmessage != "COMMIT":
        raise unavailable(server, f"has not committed ({committed.statusmessage}): try again")


def _lock_key(*names: str) -> int:
    """Returns the number of a lock, 64 bits with a sign, from the names of what it locks."""
    digest = blake2b("\0".join(("ullage", *names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), signed=True)
