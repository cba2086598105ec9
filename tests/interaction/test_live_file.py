"""The process that follows agents' conversations writes a live file; other processes show what is in it."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from support.follower_ports import follower_ports
from support.log_trees import to_bytes
from support.session_log import line, say
from support.workspace import TestClient, build_test_client
from ullage.app.catalogue import LiveRowsShown
from ullage.host.side_files import CATALOGUE, LIVE, beside
from ullage.model.errors import StoreUnavailable
from ullage.model.usage import (
    CacheSource,
    FollowedRow,
    GoodMoment,
    IdleCompaction,
    LiveSessions,
    Nearness,
    PromptCache,
    RateLimit,
)
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile, ToldWindow
from ullage.store.sqlite.catalogue import FollowedNow, ForgottenList, SqliteCatalogue
from ullage.system.growing_files import GrowingFiles

# Seconds. A busy machine may be slow.
PATIENCE = 60
ID = "11111111-2222-3333-4444-555555555555"
KEY = "Claude Code", ID


class OneLease:
    """A lease that only its first taker holds."""

    def __init__(self) -> None:
        self.is_held = False

    def take(self) -> bool:
        self.is_held, was = True, self.is_held
        return not was

    def give_up(self) -> None:
        self.is_held = False


class Machine:
    """A folder with agents' files, and what agents say of their processes."""

    def __init__(self, folder: Path) -> None:
        self.lease = OneLease()
        self.path = folder / f"{ID}.jsonl"
        self.store = folder / "store.db"
        self.live = beside(self.store, LIVE)
        # Next to a store.
        self.read_list = folder / "store.db.catalogue.db"
        self.processes: dict[tuple[str, str], int | None] = {}
        self.told: dict[str, int] = {}

    def find(self, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        return [FoundFile(path=self.path, agent="Claude Code", origin_id=ID)] if self.path.exists() else []

    def running(self) -> Mapping[tuple[str, str], int | None]:
        return dict(self.processes)

    def window_of(self, origin_id: str) -> ToldWindow | None:
        size = self.told.get(origin_id)
        return ToldWindow(size=size, at=0) if size else None

    def turn(self, number: int) -> None:
        """Lets the agent write a prompt and an answer."""
        usage = {"input_tokens": 1_000 * (number + 1), "output_tokens": 5}
        parent, more = f"a{number - 1}" if number else None, {"cwd": "/home/user/project", "sessionId": ID}
        answer = {"id": f"a{number}", "usage": usage, "stop_reason": "end_turn"}
        lines = [
            line("user", f"u{number}", parent, f"Question {number}?", **more),
            line("assistant", f"a{number}", f"u{number}", [say("So.")], **answer, **more),
        ]
        with self.path.open("ab") as file:
            file.write(to_bytes(lines))


class Process:
    """A process with a workspace of its own. `rows` is what its listener got."""

    def __init__(self, machine: Machine, process_id: int, client: TestClient | None = None, piece: int = 0) -> None:
        client = client or build_test_client()
        client.workspace.told_window = machine.window_of
        self.rows: list[FollowedRow] = []
        ports = follower_ports(
            machine.live.parent,
            machine.find,
            files=GrowingFiles(piece) if piece else GrowingFiles(),
            lease=machine.lease,
            processes=machine.running,
            process_id=process_id,
        )
        self.clock = client.clock
        self.follower = AgentFollower(client.workspace, ports, self.rows.append, 3600)
        self._task = asyncio.create_task(self.follower.run())

    async def until(self, holds: Callable[[FollowedRow], bool]) -> FollowedRow:
        """Returns the newest row once it is such a row."""
        async with asyncio.timeout(PATIENCE):
            while not (self.rows and holds(self.rows[-1])):
                await asyncio.sleep(0.01)
        return self.rows[-1]

    async def end(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def shown(machine: Machine, row: FollowedRow) -> LiveSessions:
    """Returns what is shown once it has the row: the same in the catalogue and in the live file."""
    shown = FollowedNow(machine.store)
    async with asyncio.timeout(PATIENCE):
        while (said := shown.read()) is None or row not in said.sessions:
            await asyncio.sleep(0.01)
        while not machine.live.is_file() or msgspec.json.decode(machine.live.read_bytes(), type=LiveSessions) != said:
            await asyncio.sleep(0.01)
            said = shown.read() or said
    return said


async def test_the_live_file_has_the_row_that_the_listener_gets_and_no_other_user_may_read_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.turn(0)
    first = Process(machine, 41)
    row = await first.until(lambda row: row.messages == 2)
    said = await shown(machine, row)
    await first.end()
    assert said.follower == 41
    assert (row.agent, row.agent_session_id, row.path) == (*KEY, str(machine.path))
    assert (row.agent_short, row.compact_command, row.takes_focus) == ("CC", "/compact", True)
    assert (row.cwd, row.window) == ("/home/user/project", 200_000)
    if sys.platform != "win32":
        assert stat.S_IMODE(machine.live.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir() if file not in (machine.path, machine.read_list)] == [
        machine.live.name
    ]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_the_first_row_has_the_newest_figure_although_the_answer_may_continue(machine: Machine) -> None:
    machine.turn(0)
    # However long this machine takes until the file is read, it has been written just then.
    later = time.time() + PATIENCE
    os.utime(machine.path, (later, later))
    first = Process(machine, 41)
    await first.until(lambda row: bool(row.used))
    await first.end()
    assert (first.rows[0].used, first.rows[0].messages) == (1_005, 2)


async def test_an_error_of_the_listener_ends_the_following_as_itself(machine: Machine, tmp_path: Path) -> None:
    machine.turn(0)

    def gone(_: FollowedRow) -> None:
        raise BrokenPipeError

    ports = follower_ports(tmp_path, machine.find, lease=machine.lease)
    follower = AgentFollower(build_test_client().workspace, ports, gone, 3600)
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(PATIENCE):
            await follower.run()
    assert not machine.lease.is_held


async def test_a_process_that_does_not_follow_shows_what_the_live_file_says(machine: Machine) -> None:
    machine.turn(0)
    first = Process(machine, 41)
    before = await first.until(lambda row: row.messages == 2)
    second = Process(machine, 42)
    assert await second.until(lambda row: row.used == before.used) == before
    machine.turn(1)
    # No further row comes after the one with the whole answer.
    after = await second.until(lambda row: row.messages == 4)
    await first.end()
    await second.end()
    assert after == first.rows[-1]


async def test_that_another_process_has_deleted_a_session_is_told_where_it_is_followed_and_where_it_is_shown(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path)
    machine.turn(0)
    one = build_test_client()
    other = build_test_client(store=one.workspace.ports.store, ids=one.ids)
    deleted: list[tuple[str, str]] = []
    for name, client in (("followed", one), ("shown", other)):
        client.workspace.deletion_listeners.append(lambda session_id, name=name: deleted.append((name, session_id)))
    first, second = Process(machine, 41, one), Process(machine, 42, other)
    row = await first.until(lambda row: row.messages == 2)
    await second.until(lambda shown: shown.session_id == row.session_id)
    machine.path.unlink()
    one.workspace.ports.store.delete(row.session_id)
    await first.follower.search()
    async with asyncio.timeout(PATIENCE):
        while len(deleted) < 2:
            await asyncio.sleep(0.01)
    assert deleted == [("followed", row.session_id), ("shown", row.session_id)]
    await first.end()
    await second.end()


async def test_a_large_file_whose_session_has_all_of_it_already_has_a_row(tmp_path: Path) -> None:
    machine, client = Machine(tmp_path), build_test_client()
    for number in range(20):
        machine.turn(number)
    # A door reads the newest conversation of a folder while the follower begins.
    (found,) = machine.find(0)
    await FollowedFile(client.workspace, GrowingFiles(), found).read_all()
    first = Process(machine, 41, client, piece=2_000)
    row = await first.until(lambda row: row.messages == 40)
    assert row.used == 20_005
    await shown(machine, row)
    await first.end()


async def test_a_conversation_is_live_while_its_agents_process_runs(machine: Machine) -> None:
    machine.turn(0)
    machine.processes[KEY] = 4711
    first = Process(machine, 41)
    row = await first.until(lambda row: row.process_id is not None and row.messages == 2)
    assert (row.live, row.process_id) == (True, 4711)
    # However long ago the last message was.
    first.clock.advance(86_400)
    machine.processes = {KEY: None}
    await first.follower.search()
    ended = await first.until(lambda row: not row.live)
    await shown(machine, ended)
    await first.end()
    assert ended == replace(row, live=False, process_id=None, nearness=None)


async def test_a_conversation_whose_process_is_unknown_is_live_until_nothing_was_written_for_long(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path)
    machine.turn(0)
    first = Process(machine, 41)
    row = await first.until(lambda row: row.messages == 2)
    first.clock.advance((row.updated_at - first.clock.now()) // 1000)
    await first.follower.search()
    assert (await first.until(lambda row: row.live)).process_id is None
    first.clock.advance(899)
    await first.follower.search()
    assert first.rows[-1].live
    first.clock.advance(2)
    await first.follower.search()
    assert not first.rows[-1].live
    await first.end()


async def test_a_conversation_of_the_future_is_not_live(machine: Machine) -> None:
    machine.turn(0)
    first = Process(machine, 41)
    row = await first.until(lambda row: row.messages == 2)
    first.clock.advance((row.updated_at - first.clock.now()) // 1000 - 1_000)
    await first.follower.search()
    assert not first.rows[-1].live
    await first.end()


async def test_the_window_that_an_agent_says_to_its_status_line_is_taken(machine: Machine) -> None:
    machine.turn(0)
    first = Process(machine, 41)
    assert (await first.until(lambda row: row.messages == 2)).window_source == "rule"
    machine.told[ID] = 1_000_000
    await first.follower.search()
    row = await first.until(lambda row: row.window == 1_000_000)
    assert row.window_source == "agent"
    machine.told[ID] = 500_000
    machine.turn(1)
    assert (await first.until(lambda row: row.messages == 4)).window == 500_000
    await shown(machine, first.rows[-1])
    await first.end()


async def test_nothing_is_lost_while_the_live_file_cannot_be_written(machine: Machine, tmp_path: Path) -> None:
    machine.live.mkdir()
    machine.turn(0)
    first = Process(machine, 41)
    await first.until(lambda row: row.messages == 2)
    with pytest.raises(StoreUnavailable, match="cannot write"):
        LiveRowsShown(machine.store).write(LiveSessions(at=0, follower=1, sessions=()))
    assert [
        file.name for file in tmp_path.iterdir() if file not in (machine.path, machine.live, machine.read_list)
    ] == []
    machine.live.rmdir()
    machine.turn(1)
    await shown(machine, await first.until(lambda row: row.messages == 4))
    await first.end()


def test_the_live_file_says_whether_its_writer_tells_on_the_desktop(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    for is_told in (False, True):
        LiveRowsShown(store, lambda is_told=is_told: is_told).write(LiveSessions(at=0, follower=1, sessions=()))
        assert msgspec.json.decode(beside(store, LIVE).read_bytes(), type=LiveSessions).desktop is is_told


async def test_rate_limits_that_an_agent_says_meanwhile_are_in_its_row(tmp_path: Path) -> None:
    machine, client, said = Machine(tmp_path), build_test_client(), dict[str, tuple[RateLimit, ...]]()
    client.workspace.rate_limits = lambda origin_id: said.get(origin_id, ())
    machine.turn(0)
    process = Process(machine, 1, client)
    assert (await process.until(lambda row: row.messages == 2)).rate_limits == ()
    said[ID] = (RateLimit(name="5h", percent=42),)
    assert (await process.until(lambda row: bool(row.rate_limits))).rate_limits == said[ID]
    await process.end()


def shown_of(row: FollowedRow) -> tuple[object, ...]:
    clock = row.idle, row.cache, row.moment, row.rate_limits
    return *clock, row.calls_left, row.warnings, row.path


def test_what_is_followed_is_read_as_it_was_written_and_once(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    writing, reading = FollowedNow(store), FollowedNow(store)
    assert reading.read() is None
    idle = IdleCompaction(at=5, setting="autoCompact")
    first = FollowedRow(session_id="s", agent="Claude Code", agent_short="CC", path="/a", compact_command="/compact")
    first = replace(
        first,
        takes_focus=True,
        idle=idle,
        cache=PromptCache(until=9, keeps=5, source=CacheSource.SEEN, tokens=3, warm=0.1, cold=None),
        moment=GoodMoment(at=4, work="fix: round", tokens=26_000, cost=0.1),
        rate_limits=(RateLimit(name="5h", percent=42, until=9), RateLimit(name="7d", percent=1)),
        calls_left=(2, 9),
        nearness=Nearness.NEAR,
        warnings=("One.", "Two."),
    )
    second = FollowedRow(session_id="t", agent="opencode", agent_short="OC", path="/o.db", agent_session_id="a/b")
    for rows in ((first, second), (second,), (), (first,)):
        writing.write(LiveSessions(at=7, follower=41, sessions=rows))
        said = reading.read()
        assert said is not None
        assert (said.at, said.follower) == (7, 41)
        assert {row.session_id: shown_of(row) for row in said.sessions} == {
            row.session_id: shown_of(row) for row in rows
        }
        assert reading.read() is None
    # A catalogue that is made again has all of it with the next write.
    beside(store, CATALOGUE).unlink()
    writing.write(LiveSessions(at=7, follower=41, sessions=(first, second)))
    said = FollowedNow(store).read()
    assert said is not None
    assert len(said.sessions) == 2
    # What the last process has followed is followed no more by the next one.
    FollowedNow(store).write(LiveSessions(at=8, follower=41, sessions=(second,)))
    said = reading.read()
    assert said is not None
    assert [row.session_id for row in said.sessions] == ["t"]


def test_no_row_of_what_was_just_forgotten_is_written_until_it_continues(tmp_path: Path) -> None:
    store, writing = tmp_path / "store.db", FollowedNow(tmp_path / "store.db")
    row = FollowedRow(session_id="s", agent="Claude Code", path="/a.jsonl", title="The treasure", updated_at=1_000)
    writing.write(LiveSessions(at=7, follower=41, sessions=(row,)))
    ForgottenList(store).add("/a.jsonl", "", 1_500)
    SqliteCatalogue(store).remove("/a.jsonl", "")
    for used in (1, 2):
        writing.write(LiveSessions(at=8, follower=41, sessions=(replace(row, used=used),)))
    assert SqliteCatalogue(store).read() == {}
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("store.db.catalogue.db*"))
    assert b"treasure" not in kept
    writing.write(LiveSessions(at=9, follower=41, sessions=(replace(row, updated_at=2_000),)))
    assert [one.title for one in SqliteCatalogue(store).read().values()] == ["The treasure"]
