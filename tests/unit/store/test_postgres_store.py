"""What is PostgreSQL's own in the store: connections that are lost, other openings, tables of older versions."""

import logging
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from psycopg import OperationalError, connect
from psycopg_pool import ConnectionPool

from support.logs import conversation, message, records
from support.panes import wait_until
from support.postgres_server import PostgresServer, needs_postgres, running_server
from ullage import ContextManager
from ullage.model.errors import ConcurrentAppend, InvalidRequest, StoreTooNew, StoreUnavailable
from ullage.model.events import MessageAppended, Record, SessionCreated, SessionRenamed
from ullage.store.postgres import postgres_tables
from ullage.store.postgres import server as server_module
from ullage.store.postgres.postgres_store import PoolTransactions, PostgresStore, open_postgres
from ullage.store.postgres.server import reporting
from ullage.store.postgres.text_index import SharedSql, TextIndex
from ullage.store.store_place import open_store_at
from ullage.store.tables import session_table

pytestmark = needs_postgres
# Seconds.
PATIENCE = 60


def test_a_change_by_another_opening_is_heard_of_and_an_own_one_is_not(
    postgres: PostgresStore, postgres_address: str
) -> None:
    before = postgres.version()
    postgres.create("s", conversation("one"))
    assert postgres.version() == before
    with open_postgres(postgres_address) as other:
        other.append("s", records(message("two"), start=2))
    # The server sends notifications on its own time.
    until = time.monotonic() + PATIENCE
    while postgres.version() == before and time.monotonic() < until:
        time.sleep(0.01)
    assert postgres.version() != before


def test_of_two_openings_that_append_at_one_position_one_is_refused(
    postgres: PostgresStore, postgres_address: str
) -> None:
    postgres.create("s", conversation("one"))
    refused: list[ConcurrentAppend] = []

    def append(name: str) -> None:
        with open_postgres(postgres_address) as store:
            try:
                store.append("s", records(message(name), start=2))
            except ConcurrentAppend as error:
                refused.append(error)

    threads = [Thread(target=append, args=(name,)) for name in ("two", "three", "four")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(refused) == 2
    assert len(postgres.read("s")) == 3


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "not committed"])
def test_an_append_whose_connection_is_lost_is_made_exactly_once(
    postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    postgres.create("s", conversation("one"))
    append = PoolTransactions.append
    lost: list[str] = []

    def lose(to: PoolTransactions, session_id: str, more: Sequence[Record]) -> bool:
        if lost:
            return append(to, session_id, more)
        lost.append(session_id)
        if is_committed:
            append(to, session_id, more)
        with reporting("PostgreSQL"):
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PoolTransactions, "append", lose)
    more = records(message("two"), message("three"), start=2)
    postgres.append("s", more)
    assert lost
    assert postgres.read("s", 2) == more


def test_a_position_that_another_has_taken_meanwhile_is_not_taken_for_the_own_append(
    postgres: PostgresStore, postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.create("s", conversation("one"))

    def lose(*_: object) -> bool:
        monkeypatch.undo()
        with open_postgres(postgres_address) as other:
            other.append("s", records(message("theirs"), start=2))
        with reporting("PostgreSQL"):
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PoolTransactions, "append", lose)
    with pytest.raises(ConcurrentAppend):
        postgres.append("s", records(message("ours"), start=2))
    assert ids(postgres.read("s", 2)) == ["theirs"]


def ids(log: Sequence[Record]) -> list[str]:
    return [record.event.message.id for record in log if isinstance(record.event, MessageAppended)]


def rows_read(address: str, appended: int) -> int:
    """Returns how many rows of the records' table have been read so far, once the statistics count what was
    appended."""
    until = time.monotonic() + PATIENCE
    with connect(address, autocommit=True) as connection:
        while time.monotonic() < until:
            found = connection.execute(
                "SELECT coalesce(idx_tup_fetch, 0) + seq_tup_read, n_tup_ins FROM pg_stat_user_tables "
                "WHERE schemaname = current_schema() AND relname = 'records'"
            ).fetchone()
            if found is not None and found[1] == appended:
                return found[0]
            time.sleep(0.05)
    raise AssertionError(f"the statistics never counted {appended} records")


def test_appending_reads_no_more_rows_in_a_large_session(postgres_address: str) -> None:
    read: list[int] = []
    for start, count in ((2, 2_000), (2_002, 10)):
        with open_postgres(postgres_address) as store:
            if start == 2:
                store.create("s", conversation("one"))
                store.append("s", records(*(message(f"m{number}") for number in range(count)), start=start))
            else:
                for number in range(count):
                    store.append("s", records(message(f"n{number}"), start=start + number))
        read.append(rows_read(postgres_address, start + count))
    assert read[1] - read[0] <= 10 * 5


def test_a_record_that_cannot_be_read_ends_the_reading_and_not_the_connection(
    postgres: PostgresStore, postgres_address: str
) -> None:
    postgres.create("s", conversation(*(f"{number} " * 1_000 for number in range(1_000))))
    with connect(postgres_address, autocommit=True) as connection:
        connection.execute("UPDATE records SET payload = '{' WHERE position = 300")
    with pytest.raises(StoreUnavailable, match="is damaged"):
        postgres.open("s")
    assert len(postgres.read("s", 301)) == 700
    assert postgres.info("s").messages == 1_000


def test_appending_to_a_new_store_reads_no_more_rows_as_its_session_grows(postgres_address: str) -> None:
    # PostgreSQL has no statistics of a table that is new, and keeps the plan that it made without them.
    with open_postgres(postgres_address) as store:
        store.create("s", conversation("one"))
        for number in range(300):
            store.append("s", records(message(f"m{number}"), start=2 + number))
    assert rows_read(postgres_address, 302) <= 302 * 5


def test_a_session_that_grows_in_a_new_store_is_listed_and_renamed_without_being_read(postgres_address: str) -> None:
    def list_and_rename(position: int) -> None:
        # As often as it takes for psycopg to prepare a statement, and for PostgreSQL to keep its plan.
        for number in range(12):
            assert [info.session_id for info in store.list()] == [store.info("s").session_id]
            store.append("s", records(SessionRenamed(title=f"title {position + number}"), start=position + number))

    with open_postgres(postgres_address) as store:
        store.create("s", conversation("one"))
        list_and_rename(2)
        store.append("s", records(*(message(f"m{number}") for number in range(2_000)), start=14))
        list_and_rename(2_014)
    assert rows_read(postgres_address, 2_026) <= 24 * 10


def test_appends_of_many_threads_at_once_are_all_made(postgres: PostgresStore) -> None:
    for number in range(8):
        postgres.create(f"s{number}", conversation("one"))

    def append(session_id: str) -> None:
        for number in range(20):
            postgres.append(session_id, records(message(f"m{number}"), start=2 + number))

    threads = [Thread(target=append, args=(f"s{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [len(postgres.read(f"s{number}")) for number in range(8)] == [22] * 8


def test_a_message_of_many_megabytes_is_appended(postgres: PostgresStore) -> None:
    postgres.create("s", conversation("one"))
    large = records(message("large", "x" * 30_000_000), start=2)
    postgres.append("s", large)
    postgres.append("s", records(message("next"), start=3))
    assert postgres.read("s", 2, 3) == large


def test_an_append_whose_commit_fails_is_not_acknowledged(postgres: PostgresStore, postgres_address: str) -> None:
    postgres.create("s", conversation("one"))
    with connect(postgres_address, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'no room left' USING ERRCODE = 'disk_full'; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON records DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
        with pytest.raises(StoreUnavailable, match="no room left"):
            postgres.append("s", records(message("late"), start=2))
        connection.execute("DROP TRIGGER refuse ON records")
    assert ids(postgres.read("s", 2)) == []
    postgres.append("s", records(message("next"), start=2))
    assert ids(postgres.read("s", 2)) == ["next"]


def test_an_append_that_the_server_refuses_says_why_and_the_next_one_is_made(postgres: PostgresStore) -> None:
    postgres.create("s", conversation("one"))
    (late,) = records(message("late"), start=2)
    with pytest.raises(InvalidRequest, match="cannot be stored"):
        postgres.append("s", [msgspec.structs.replace(late, timestamp=2**70)])
    postgres.append("s", [late])
    assert ids(postgres.read("s", 2)) == ["late"]


def test_nothing_is_appended_after_the_end(postgres_address: str) -> None:
    store = open_postgres(postgres_address)
    store.create("s", conversation("one"))
    store.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        store.append("s", records(message("two"), start=2))


def test_a_store_goes_on_after_its_server_was_restarted() -> None:
    with running_server("fsync=off") as server, open_postgres(server.new_schema()) as store:
        store.create("s", conversation("one"))
        server.stop("immediate")
        server.start("listen_addresses=", "fsync=off")
        store.append("s", records(message("two"), start=2))
        assert len(store.read("s")) == 3


def test_a_server_that_is_away_is_logged_once_and_its_return_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server("fsync=off") as server, open_postgres(server.new_schema()) as store:
        store.create("s", conversation("one"))
        server.stop("immediate")
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                store.append("s", records(message("two"), start=2))
        server.start("listen_addresses=", "fsync=off")
        # As after the pause.
        monkeypatch.setattr(server_module, "monotonic", lambda: time.monotonic() + server_module.PAUSE)
        wait_until(lambda: has_appended(store))
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(logged) == 2
    assert re.fullmatch(r"PostgreSQL at this machine/postgres can't be reached \(.*\): trying again", logged[0])
    assert logged[1] == "PostgreSQL at this machine/postgres answers again"


def has_appended(store: PostgresStore) -> bool:
    with suppress(StoreUnavailable):
        store.append("s", records(message("two"), start=2))
        return True
    return False


def test_what_other_pools_of_the_program_log_is_left_alone(
    postgres: PostgresStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert postgres.list() == ()
    with ConnectionPool(f"postgresql:///other?host={tmp_path}", min_size=1, open=True):
        wait_until(lambda: "error connecting" in caplog.text)


def test_a_server_that_is_gone_is_named_with_a_remedy_and_without_a_user(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"PostgreSQL at this machine/ullage can't be reached .*: check the"):
        open_store_at(f"postgresql:///ullage?host={tmp_path}&user=somebody")


def test_an_option_that_postgresql_does_not_know_is_named() -> None:
    with pytest.raises(InvalidRequest, match="walnut"):
        open_store_at("postgresql:///ullage?walnut=1")


def test_a_store_of_a_newer_ullage_is_left_alone(postgres_address: str) -> None:
    with open_postgres(postgres_address), connect(postgres_address, autocommit=True) as connection:
        connection.execute("UPDATE store_version SET version = 99")
    with pytest.raises(StoreTooNew, match="99"):
        open_postgres(postgres_address)


@pytest.mark.parametrize("version", range(2, postgres_tables.VERSION))
def test_a_store_of_an_older_version_keeps_its_sessions_and_is_searched(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as older, connect(postgres_address, autocommit=True) as connection:
        role = connection.info.user
        older.setattr(postgres_tables, "MIGRATIONS", postgres_tables.MIGRATIONS[:version])
        older.setattr(postgres_tables, "VERSION", version)
        tables = SharedSql(connection)
        postgres_tables.migrate(tables)
        session_table.insert_session(tables, "s", conversation("walnut"))
        if version >= 3:
            connection.execute(
                "INSERT INTO message_words (row_id, session_id, size, tokens) "
                "SELECT record_id, session_id, 1, 'walnut' FROM records WHERE message_id IS NOT NULL"
            )
            connection.execute("UPDATE sessions SET indexed_position = 1, workspace = 'w'")
    with open_postgres(postgres_address) as store:
        assert len(store.read("s")) == 2
        assert [hit.session_id for hit in store.search("walnut")] == ["s"]
        store.append("s", records(message("two", "walnut"), start=2))
        assert len(store.search("walnut")) == 2
        assert store.owner("s") == (role, "w" if version >= 3 else None)
        if version >= 3:
            store.share("s", None)
    with connect(postgres_address) as connection:
        assert TextIndex(connection).count_rows(["walnut", ""]) == [2, 2]
        counted = connection.execute("SELECT DISTINCT workspace FROM message_vocabulary").fetchall()
    assert counted == [("",)]


def test_a_name_with_a_character_that_postgresql_has_not_is_escaped(postgres: PostgresStore) -> None:
    postgres.create("s", records(SessionCreated(title="a\0b", cwd="/project", model="m"), message("m\0")))
    assert postgres.info("s").title == "a\\0b"
    assert postgres.find_index("s", "m\0") == 0
    assert ids(postgres.read("s", 1)) == ["m\0"]


def test_two_schemas_are_two_stores(postgres: PostgresStore, postgres_server: PostgresServer) -> None:
    postgres.create("s", conversation("one"))
    with open_postgres(postgres_server.new_schema()) as other:
        assert other.list() == ()


def test_a_programs_conversation_continues_from_postgresql(postgres_address: str) -> None:
    with ContextManager("gpt-5", store=postgres_address) as manager:
        manager.add_message({"role": "user", "content": "Plant the walnut tree."})
        session_id = manager.session_id
    with ContextManager("gpt-5", store=postgres_address, session_id=session_id) as manager:
        assert manager.get_messages() == [{"role": "user", "content": "Plant the walnut tree."}]


def test_a_server_that_hangs_holds_one_call_for_a_bounded_time_and_the_next_ones_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_server("fsync=off") as server, open_postgres(server.new_schema()) as store:
        store.create("s", conversation("one"))
        store.append("s", records(message("two"), start=2))
        monkeypatch.setattr(server_module, "SILENCE", 1)
        monkeypatch.setattr(server_module, "PAUSE", PATIENCE)
        with server.stopped_processes():
            for error in ("no answer|silent", "silent a moment ago", "silent a moment ago"):
                with pytest.raises(StoreUnavailable, match=error):
                    store.append("s", records(message("three"), start=3))
        monkeypatch.setattr(server_module, "SILENCE", PATIENCE)
        # As after the pause.
        monkeypatch.setattr(server_module, "monotonic", lambda: time.monotonic() + PATIENCE)
        with suppress(ConcurrentAppend):
            store.append("s", records(message("three"), start=3))
        assert ids(store.read("s", 3)) == ["three"]
