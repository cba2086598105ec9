"""Measures the store in PostgreSQL, on a server of its own with `fsync`.

Each figure has a floor of the same run: a bare insert, SQLite, or the same work on a session of 100 messages. What must
not grow with a session in SQLite, or with a context, is held by tests, which count its steps
(`tests/unit/store/test_store_log.py`, `tests/interaction/test_compaction_runs.py`).
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from benches import search
from benches.report import Part, Report, compared, in_turns, median, report_of, seconds
from support.logs import message, records
from support.postgres_server import PostgresServer, programs, running_server
from ullage.model.events import SessionCreated
from ullage.store import open_store
from ullage.store.postgres.postgres_store import open_postgres
from ullage.store.table_store import TableStore
from ullage.store.tables.session_table import encode_event

SMALL = 100
# In PostgreSQL: the rounds, messages of long sessions, and sessions at once with the appends of each.
_FEWER_ROUNDS, _LONG, _LONGEST = 200, 10_000, 100_000
_SESSIONS, _APPENDS = 200, 10
_TEXT = "The quick brown fox jumps over the lazy dog. " * 20
_GROWTH_AIM = 1.5
# In PostgreSQL: an append, and opening compared with SQLite.
_APPEND_AIM, _OPEN_AIM = 1.5, 2.0
_INSERT = (
    "INSERT INTO bare (session_id, position, timestamp, event, messages, message_id, payload) "
    "VALUES (%s, %s, 0, 'message_appended', %s, %s, %s)"
)


def run(paths: Sequence[Path]) -> Report:
    """Returns a row for each kind of work."""
    return report_of("store", _in_postgres(paths))


def _append_to(store: TableStore, size: int, number: int) -> None:
    store.append("s", records(message(f"n{number}", _TEXT), start=size + 1 + number))


# In PostgreSQL


def _in_postgres(paths: Sequence[Path]) -> Iterator[Part]:
    """Yields the parts; none if there is no PostgreSQL on this machine."""
    if sys.platform == "win32" or programs() is None:
        sys.stderr.write("bench store: PostgreSQL is not installed, so its store is not measured\n")
        return
    with running_server("fsync=on") as server:
        yield from (part(server) for part in (_insert, _appends_to_long_sessions, _open, _at_once, _bytes))
        yield [search.in_postgres(server, paths)], []


def _insert(server: PostgresServer) -> Part:
    """A bare insert of the same row, with the same indexes, and committed."""
    address = server.new_schema()
    with open_postgres(address) as store, psycopg.connect(address, autocommit=True) as bare:
        _fill(store, SMALL)
        bare.execute("CREATE TABLE bare (LIKE records INCLUDING ALL)")

        def insert(number: int) -> object:
            (record,) = records(message(f"n{number}", _TEXT), start=number)
            return bare.execute(_INSERT, ("s", number, number, f"n{number}", encode_event(record.event)))

        floor, ours = in_turns(_FEWER_ROUNDS, insert, lambda number: _append_to(store, SMALL, number))
    return compared("append, floor: a bare insert of the row", median(floor), median(ours), _APPEND_AIM)


def _appends_to_long_sessions(server: PostgresServer) -> Part:
    with open_postgres(server.new_schema()) as small, open_postgres(server.new_schema()) as large:
        _fill(small, SMALL)
        _fill(large, _LONG)
        floor, ours = in_turns(
            _FEWER_ROUNDS,
            lambda number: _append_to(small, SMALL, number),
            lambda number: _append_to(large, _LONG, number),
        )
    return compared(f"append to {_LONG:,}, floor: to {SMALL}", median(floor), median(ours), _GROWTH_AIM)


def _open(server: PostgresServer) -> Part:
    with (
        TemporaryDirectory() as folder,
        open_store(Path(folder) / "s.db") as local,
        open_postgres(server.new_schema()) as remote,
    ):
        _fill(local, _LONGEST)
        _fill(remote, _LONGEST)
        floor, ours = in_turns(5, lambda _: local.open("s"), lambda _: remote.open("s"))
    return compared(f"open {_LONGEST:,} messages, floor: in SQLite", median(floor), median(ours), _OPEN_AIM)


def _at_once(server: PostgresServer) -> Part:
    """Each of many threads appends to a session of its own, through one store; the floor is the same by bare inserts
    through as many connections."""
    address = server.new_schema()
    with open_postgres(address) as store, ThreadPoolExecutor(_SESSIONS) as threads:
        for number in range(_SESSIONS):
            store.create(f"s{number}", records(SessionCreated()))
        connections = [psycopg.connect(address, autocommit=True) for _ in range(4)]
        connections[0].execute("CREATE TABLE bare (LIKE records INCLUDING ALL)")

        def bare(session: int) -> None:
            for number in range(_APPENDS):
                (record,) = records(message(f"n{number}", _TEXT), start=number)
                values = (f"s{session}", number, 0, f"n{number}", encode_event(record.event))
                connections[session % len(connections)].execute(_INSERT, values)

        def ours(session: int) -> None:
            for number in range(_APPENDS):
                store.append(f"s{session}", records(message(f"n{number}", _TEXT), start=1 + number))

        floor = seconds(lambda: list(threads.map(bare, range(_SESSIONS))))
        taken = seconds(lambda: list(threads.map(ours, range(_SESSIONS))))
        for connection in connections:
            connection.close()
    count = _SESSIONS * _APPENDS
    return compared(f"an append of {_SESSIONS} sessions at once, floor: bare inserts", floor / count, taken / count)


def _bytes(server: PostgresServer) -> Part:
    """What a message takes on the disk with its indexes, the search's included; the floor is its record's payload. Not
    milliseconds, so the row has columns of its own."""
    address = server.new_schema()
    with open_postgres(address) as store:
        _fill(store, _LONG)
        while store.index_some():
            pass
        with psycopg.connect(address) as connection:
            total, payload = connection.execute(
                "SELECT sum(pg_total_relation_size(c.oid)), (SELECT sum(octet_length(payload)) FROM records) "
                "FROM pg_class c WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            ).fetchone() or (0, 1)
    row = {
        "bytes of": "a message with its indexes, floor: its payload",
        "floor": int(payload) // _LONG,
        "ours": int(total) // _LONG,
        "ratio": float(total) / float(payload),
    }
    return [row], []


def _fill(store: TableStore, messages: int) -> None:
    store.create("s", records(SessionCreated()))
    for start in range(0, messages, 5_000):
        batch = (message(f"m{number}", _TEXT) for number in range(start, min(messages, start + 5_000)))
        store.append("s", records(*batch, start=start + 1))
