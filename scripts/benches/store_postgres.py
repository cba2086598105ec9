"""Measures the store in PostgreSQL, on a server of its own with `fsync`, each figure with a floor of the same run.

Work and floor take turns, so that other load slows both equally. With `--long` there is also a search among a million
messages (`store_search.py`), which takes about ten minutes and four GB of disk.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from benches import store_search
from benches.report import Aim, at_most, median
from benches.store_search import seconds
from support.logs import message, records
from support.postgres_server import PostgresServer, programs, running_server
from ullage.model.events import SessionCreated
from ullage.store import open_store
from ullage.store.postgres.postgres_store import open_postgres
from ullage.store.table_store import TableStore
from ullage.store.tables.connection import encode_event

ROUNDS = 200
SMALL, LARGE, LONG = 100, 10_000, 100_000
SESSIONS, APPENDS_EACH = 200, 10
_TEXT = "The quick brown fox jumps over the lazy dog. " * 20
# An append, its growth, and opening compared with SQLite.
_APPEND_AIM, _GROWTH_AIM, _OPEN_AIM = 1.5, 1.5, 2.0

Measured = tuple[dict[str, Any], list[Aim]]


def measure(paths: Sequence[Path], *, is_long: bool) -> list[Measured]:
    """Returns a row with its aims for each kind of work; nothing if there is no PostgreSQL on this machine."""
    if sys.platform == "win32" or programs() is None:
        sys.stderr.write("bench store: PostgreSQL is not installed, so its store is not measured\n")
        return []
    with running_server("fsync=on") as server:
        return [
            _append(server),
            _appends_to_long_sessions(server),
            _open(server),
            _at_once(server),
            _bytes(server),
            *((row, []) for row in store_search.measure(server, paths, is_long=is_long)),
        ]


def _append(server: PostgresServer) -> Measured:
    """A bare insert of the same row, with the same indexes, and committed."""
    address = server.new_schema()
    with open_postgres(address) as store, psycopg.connect(address, autocommit=True) as bare:
        _fill(store, "s", SMALL)
        bare.execute("CREATE TABLE bare (LIKE records INCLUDING ALL)")

        def insert(number: int) -> object:
            (record,) = records(message(f"n{number}", _TEXT), start=number)
            return bare.execute(
                "INSERT INTO bare (session_id, position, timestamp, event, messages, message_id, payload) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                ("s", number, 0, "message_appended", number, f"n{number}", encode_event(record.event)),
            )

        floor, ours = _in_turns(insert, lambda number: _append_to(store, SMALL, number))
    return _row("append, floor: a bare insert of the row", median(floor), median(ours), _APPEND_AIM)


def _append_to(store: TableStore, size: int, number: int) -> None:
    store.append("s", records(message(f"n{number}", _TEXT), start=size + 1 + number))


def _appends_to_long_sessions(server: PostgresServer) -> Measured:
    with open_postgres(server.new_schema()) as small, open_postgres(server.new_schema()) as large:
        _fill(small, "s", SMALL)
        _fill(large, "s", LARGE)
        floor, ours = _in_turns(
            lambda number: _append_to(small, SMALL, number), lambda number: _append_to(large, LARGE, number)
        )
    return _row(f"append to {LARGE:,}, floor: to {SMALL}", median(floor), median(ours), _GROWTH_AIM)


def _open(server: PostgresServer) -> Measured:
    with (
        TemporaryDirectory() as folder,
        open_store(Path(folder) / "s.db") as local,
        open_postgres(server.new_schema()) as remote,
    ):
        _fill(local, "s", LONG)
        _fill(remote, "s", LONG)
        floor, ours = _in_turns(lambda _: local.open("s"), lambda _: remote.open("s"), 5)
    return _row(f"open {LONG:,} messages, floor: in SQLite", median(floor), median(ours), _OPEN_AIM)


def _at_once(server: PostgresServer) -> Measured:
    """Each of many threads appends to a session of its own, through one store; the floor is the same by bare inserts
    through as many connections."""
    address = server.new_schema()
    with open_postgres(address) as store, ThreadPoolExecutor(SESSIONS) as threads:
        for number in range(SESSIONS):
            store.create(f"s{number}", records(SessionCreated()))
        connections = [psycopg.connect(address, autocommit=True) for _ in range(4)]
        connections[0].execute("CREATE TABLE bare (LIKE records INCLUDING ALL)")

        def bare(session: int) -> None:
            for number in range(APPENDS_EACH):
                (record,) = records(message(f"n{number}", _TEXT), start=number)
                connections[session % len(connections)].execute(
                    "INSERT INTO bare (session_id, position, timestamp, event, messages, message_id, payload) "
                    "VALUES (%s, %s, 0, 'message_appended', 0, %s, %s)",
                    (f"s{session}", number, f"n{number}", encode_event(record.event)),
                )

        def ours(session: int) -> None:
            for number in range(APPENDS_EACH):
                store.append(f"s{session}", records(message(f"n{number}", _TEXT), start=1 + number))

        floor = seconds(lambda: list(threads.map(bare, range(SESSIONS))))
        taken = seconds(lambda: list(threads.map(ours, range(SESSIONS))))
        for connection in connections:
            connection.close()
    count = SESSIONS * APPENDS_EACH
    return _row(f"an append of {SESSIONS} sessions at once, floor: bare inserts", floor / count, taken / count)


def _bytes(server: PostgresServer) -> Measured:
    """What a message takes on the disk with its indexes, the search's included; the floor is its record's payload. Not
    milliseconds, so the row has columns of its own."""
    address = server.new_schema()
    with open_postgres(address) as store:
        _fill(store, "s", LARGE)
        while store.index_some():
            pass
        with psycopg.connect(address) as connection:
            total, payload = connection.execute(
                "SELECT sum(pg_total_relation_size(c.oid)), (SELECT sum(octet_length(payload)) FROM records) "
                "FROM pg_class c WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            ).fetchone() or (0, 1)
    row = {
        "bytes of": "a message with its indexes, floor: its payload",
        "floor": int(payload) // LARGE,
        "ours": int(total) // LARGE,
        "ratio": float(total) / float(payload),
    }
    return row, []


def _fill(store: TableStore, session_id: str, messages: int) -> None:
    store.create(session_id, records(SessionCreated()))
    for start in range(0, messages, 5_000):
        batch = (message(f"m{number}", _TEXT) for number in range(start, min(messages, start + 5_000)))
        store.append(session_id, records(*batch, start=start + 1))


def _in_turns(
    floor: Callable[[int], object], work: Callable[[int], object], rounds: int = ROUNDS
) -> tuple[list[float], list[float]]:
    """Returns the seconds of each round of both."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for one, into in zip((floor, work), times, strict=True):
            into.append(seconds(lambda one=one, number=number: one(number)))
    return times


def _row(what: str, floor: float, ours: float, aim: float | None = None) -> Measured:
    row = {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
    return row, [] if aim is None else [at_most(f"{what}: ratio", ours / floor, aim)]
