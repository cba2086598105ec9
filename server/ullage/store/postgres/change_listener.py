"""Notices other processes' changes by PostgreSQL's notifications, so that nothing polls the tables."""

from collections.abc import Callable
from hashlib import blake2b
from os import urandom
from select import select
from threading import Lock

import psycopg

from ullage.store.postgres.transactions import PostgresConnection

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
        """Stops listening."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
        with self._publishing:
            self._drop_publisher()

    def _drop_publisher(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None
