"""A store keeps everything it acknowledged after kill -9, and processes that append at the same time lose nothing."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.appender import ids_of
from support.panes import wait_until
from support.postgres_server import needs_postgres, running_server
from support.systems import needs_signals
from ullage.model.events import MessageAppended, Record
from ullage.store.postgres.postgres_store import open_postgres
from ullage.store.store_place import open_store_at

TESTS = Path(__file__).resolve().parents[1]
# Times that a client is killed. `ULLAGE_CLIENT_DEATHS=500` takes half an hour.
KILLS = int(os.environ.get("ULLAGE_CLIENT_DEATHS", "50"))
# Times that the server of PostgreSQL dies and is started again. `ULLAGE_SERVER_DEATHS=20` takes minutes.
SERVER_DEATHS = int(os.environ.get("ULLAGE_SERVER_DEATHS", "3"))
# Appends of each of eight processes. `ULLAGE_APPENDS=10000` takes an hour.
APPENDS = int(os.environ.get("ULLAGE_APPENDS", "500"))
# Seconds. No appender that runs takes this long.
PATIENCE = 180


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of an empty store."""
    return request.getfixturevalue("postgres_address") if request.param == "postgres" else str(tmp_path / "s.db")


def start_appender(place: str, name: str, count: str = "", words: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.appender", place, "s", name, *filter(None, [count, words])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS)


def read_batches(child: subprocess.Popen[str], lines: int) -> list[str]:
    """Returns the batches that a child acknowledges in its next so many lines."""
    assert child.stdout is not None
    said = [child.stdout.readline().strip() for _ in range(lines)]
    assert all(said), f"the child ended with {child.wait(PATIENCE)}"
    return [line for line in said if line != "starting"]


def kill_after(child: subprocess.Popen[str], lines: int) -> list[str]:
    """Kills the child after it has written so many lines. Returns all batches that the child acknowledged."""
    assert child.stdout is not None
    with child.stdout as stdout:
        said = [stdout.readline().strip() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        # `communicate` would skip the lines that `readline` has buffered already.
        said += stdout.read().split()
    assert child.wait(PATIENCE) == -signal.SIGKILL
    return [line for line in said if line != "starting"]


def batches_of(log: Sequence[Record]) -> list[str]:
    """Returns the names of the batches in a log. Each batch must be whole, and positions must have no gap and no
    duplicate."""
    assert [record.position for record in log] == list(range(len(log)))
    ids = [record.event.message.id for record in log if isinstance(record.event, MessageAppended)]
    names = list(dict.fromkeys(message_id.split("/")[0] for message_id in ids))
    assert ids == [one for name in names for one in ids_of(name)]
    return names


@pytest.mark.slow
@needs_signals
@pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgres", marks=[needs_postgres, pytest.mark.long])], indirect=True
)
def test_every_acknowledged_append_is_there_after_each_kill(place: str) -> None:
    moments = random.Random(20)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        acknowledged += kill_after(start_appender(place, f"child{kill}"), lines=moments.randint(1, 12))
        with open_store_at(place) as store:
            stored = batches_of(store.read("s")) if store.list() else []
        unacknowledged = set(stored) - set(acknowledged)
        assert [name for name in stored if name not in unacknowledged] == acknowledged
        # For each child the log may hold one append that was not acknowledged: the one during which the child was
        # killed.
        assert len({name.split("-")[0] for name in unacknowledged}) == len(unacknowledged)
    assert len(acknowledged) > KILLS


def test_processes_that_append_to_one_new_session_at_once_lose_and_double_nothing(place: str) -> None:
    children = [start_appender(place, f"child{number}", count="15") for number in range(4)]
    for child in children:
        child.communicate(timeout=PATIENCE)
        assert child.returncode == 0
    with open_store_at(place) as store:
        stored = batches_of(store.read("s"))
    assert sorted(stored) == sorted(f"child{number}-{batch}" for number in range(4) for batch in range(15))


@pytest.mark.slow
@needs_postgres
def test_a_server_that_dies_in_the_middle_loses_and_doubles_no_acknowledged_append() -> None:
    moments = random.Random(21)
    acknowledged: list[str] = []
    with running_server("fsync=on", "max_connections=20") as server:
        place = server.new_schema()
        children = [start_appender(place, f"child{number}") for number in range(3)]
        for _ in range(SERVER_DEATHS):
            for child in children:
                acknowledged += read_batches(child, moments.randint(2, 8))
            server.stop("immediate")
            server.start("fsync=on", "max_connections=20")
        for child in children:
            acknowledged += kill_after(child, lines=moments.randint(2, 8))
        with open_store_at(place) as store:
            stored = batches_of(store.read("s"))
    assert len(acknowledged) == len(set(acknowledged)) > SERVER_DEATHS
    unacknowledged = set(stored) - set(acknowledged)
    assert sorted(name for name in stored if name not in unacknowledged) == sorted(acknowledged)
    assert len(unacknowledged) <= len(children)


@pytest.mark.long
@needs_postgres
def test_eight_processes_that_append_to_one_session_in_postgresql_lose_and_double_nothing(
    postgres_address: str,
) -> None:
    children = [start_appender(postgres_address, f"child{number}", str(APPENDS), "1") for number in range(8)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    with open_store_at(postgres_address) as store:
        stored = batches_of(store.read("s"))
    assert sorted(stored) == sorted(f"child{number}-{batch}" for number in range(8) for batch in range(APPENDS))


@pytest.mark.slow
@needs_postgres
def test_a_replica_that_takes_over_has_every_acknowledged_append_once() -> None:
    acknowledged: list[str] = []
    with running_server("fsync=on") as server:
        address = server.new_schema()
        open_store_at(address).close()
        replica = server.add_replica()
        # From here on a commit returns when the replica has it on its disk, too.
        server.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        hosts = f"{server.folder},{replica.folder}&target_session_attrs=read-write"
        place = address.replace(str(server.folder), hosts)
        children = [start_appender(place, f"child{number}", words="100") for number in range(3)]
        for child in children:
            acknowledged += read_batches(child, 9)
        with open_postgres(address.replace(str(server.folder), str(replica.folder)), is_team=True) as team:
            # The replica may show an append a little later than it has it.
            wait_until(lambda: len(team.list()) == 1)
            # It was not indexed, and a replica cannot.
            assert team.search("walnut") == ()
        server.stop("immediate")
        replica.promote()
        for child in children:
            acknowledged += kill_after(child, lines=5)
        with open_store_at(place) as store:
            stored = batches_of(store.read("s"))
        replica.stop("immediate")
    unacknowledged = set(stored) - set(acknowledged)
    assert sorted(name for name in stored if name not in unacknowledged) == sorted(acknowledged)
    assert len(unacknowledged) <= len(children)


@needs_postgres
def test_a_server_of_tests_that_are_killed_ends_and_leaves_no_data() -> None:
    code = (
        "from support.postgres_server import running_server\n"
        "with running_server('fsync=off') as server:\n"
        "    print(server.folder, (server.folder / 'data/postmaster.pid').read_text().split()[0], flush=True)\n"
        "    input()"
    )
    tests = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True, cwd=TESTS)
    assert tests.stdout is not None
    folder, server = tests.stdout.readline().split()
    assert Path(folder, "data").is_dir()
    tests.kill()
    tests.communicate(timeout=PATIENCE)
    wait_until(lambda: not Path(folder).exists())
    # A process that has ended may still be listed, with the state Z.
    listed = ["ps", "-o", "stat=", "-p", server]
    wait_until(lambda: subprocess.run(listed, capture_output=True, check=False).stdout[:1] in (b"", b"Z"))
