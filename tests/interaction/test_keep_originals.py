"""The keeper keeps every version of a file once, and each conversation of a database by itself, after what users wait
for; and says once when it can't."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from support.agent_databases import GROWING, put
from support.follower_ports import follower_ports
from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import line
from support.workspace import PATIENCE, build_test_client
from ullage.agents.discovery import kept_path
from ullage.agents.transcripts import read, read_document
from ullage.model.errors import StoreUnavailable
from ullage.model.usage import FollowedRow
from ullage.service.follow import keep_originals as keeper_module
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.follow.keep_originals import FileCopier, OriginalsKeeper
from ullage.service.ports.agent_files import FoundFile, Kept, KeptPorts, Source
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.system.growing_files import AgentOriginals, GrowingFiles, read_database

SESSION = "11111111-2222-3333-4444-555555555555"


class Rig:
    """A file that is kept, and the archive."""

    def __init__(self, folder: Path, name: str = f"{SESSION}.jsonl", originals: SqliteOriginals | None = None) -> None:
        self.path = folder / "project" / name
        self.path.parent.mkdir()
        self.originals = originals or SqliteOriginals(folder / "store.db.archive")
        self.files = AgentOriginals()
        self.source = Source(path=str(self.path), agent="Claude Code", origin_id=SESSION)
        self.copier = FileCopier(self.originals, self.files)

    def keep(self, *, is_quiet: bool = True) -> None:
        self.copier.keep(self.source, is_quiet=is_quiet, pack=False)

    def keeper(self, limit: int | None, notify: Callable[[str], object]) -> OriginalsKeeper:
        """Returns a keeper that closes the archive."""
        return OriginalsKeeper(
            KeptPorts(open=lambda: self.originals, files=self.files, find=lambda: [self.source]), limit, notify
        )

    def versions(self, path: Path | None = None) -> list[bytes]:
        found = self.originals.find(path=str(path or self.path))
        return [b"".join(self.originals.read(version.version_id)) for version in found[0].versions] if found else []


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Makes rigs, and closes their archives."""
    with ExitStack() as closing:

        def make(name: str = f"{SESSION}.jsonl") -> Rig:
            rig = Rig(tmp_path, name)
            closing.callback(rig.originals.close)
            return rig

        yield make


def test_a_file_that_grows_has_one_version(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    for size in range(1, 40):
        rig.path.write_bytes(b"a line\n" * size)
        rig.keep(is_quiet=size % 2 == 0)
    assert rig.versions() == [b"a line\n" * 39]


def test_the_end_of_a_line_that_is_being_written_is_left_for_later(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.path.write_bytes(b"one\ntw")
    rig.keep(is_quiet=False)
    assert rig.versions() == [b"one\n"]
    rig.keep()
    assert rig.versions() == [b"one\ntw"]


@pytest.mark.parametrize("after", [b"one\n", b"another\nfile\n", b"an\ntwo\nthree\nfour\n"])
def test_both_versions_of_a_shortened_or_rewritten_file_are_kept(make_rig: Callable[..., Rig], after: bytes) -> None:
    rig = make_rig()
    rig.path.write_bytes(b"one\ntwo\nthree\n")
    rig.keep()
    rig.path.write_bytes(after)
    rig.keep()
    assert rig.versions() == [b"one\ntwo\nthree\n", after]


def test_a_file_that_is_rewritten_between_its_ends_has_a_new_version(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    before = b"x" * 5_000 + b"\nA\n" + b"y" * 5_000 + b"\n"
    rig.path.write_bytes(before)
    rig.keep()
    after = before.replace(b"A", b"B") + b"more\n"
    rig.path.write_bytes(after)
    rig.keep()
    assert rig.versions() == [before, after]


def test_an_emptied_file_keeps_what_it_had(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.path.write_bytes(b"one\n")
    rig.keep()
    rig.path.write_bytes(b"")
    rig.keep()
    assert rig.versions() == [b"one\n"]


def test_a_file_written_again_for_each_answer_has_few_versions(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig("task.messages.json")
    for count in range(1, 30):
        rig.path.write_text(str(list(range(count))))
        rig.keep()
    assert rig.versions() == [str(list(range(29))).encode()]
    rig.path.write_text("[0]")
    rig.keep()
    assert rig.versions() == [str(list(range(29))).encode(), b"[0]"]


def test_files_of_sub_agents_and_of_tools_results_are_kept(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.path.write_bytes(b"one\n")
    for name in ("subagents/agent-a.jsonl", "subagents/agent-a.meta.json", "tool-results/b.txt"):
        file = rig.path.with_suffix("") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    rig.keep()
    found = rig.originals.find(path=str(rig.path))
    assert [Path(one.source.path).name for one in found[1:]] == ["agent-a.jsonl", "agent-a.meta.json", "b.txt"]
    assert rig.versions(rig.path.with_suffix("") / "tool-results" / "b.txt") == [b"tool-results/b.txt"]


def test_agents_files_are_not_touched(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.path.write_bytes(b"one\n")
    os.utime(rig.path, (1, 1))
    before = rig.path.stat()
    rig.keep()
    after = rig.path.stat()
    assert (after.st_mtime_ns, after.st_ino, list(rig.path.parent.iterdir())) == (
        before.st_mtime_ns,
        before.st_ino,
        [rig.path],
    )


class FullDisk(SqliteOriginals):
    """An archive whose disk can be full."""

    is_full = True

    def append(self, version_id: int, start: int, data: bytes, mark: bytes, *, pack: bool) -> Kept:
        if self.is_full:
            raise StoreUnavailable("the disk is full")
        return super().append(version_id, start, data, mark, pack=pack)


@asynccontextmanager
async def running(keeper: OriginalsKeeper) -> AsyncGenerator[None]:
    task = asyncio.create_task(keeper.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_full_disk_is_one_notice_and_what_is_missing_comes_later(tmp_path: Path) -> None:
    originals = FullDisk(tmp_path / "store.db.archive")
    rig, notices = Rig(tmp_path, originals=originals), list[str]()
    rig.path.write_bytes(b"one\n")
    keeper = rig.keeper(None, notices.append)
    async with running(keeper):
        await until(lambda: bool(notices))
        originals.is_full = False
        for number in range(3):
            rig.path.write_bytes(b"one\n" * (2 + number))
            keeper.changed(FoundFile(path=rig.path), "Claude Code", "s_1")
        await until(lambda: rig.versions() == [b"one\n" * 4] and bool(originals.find(session_id="s_1")))
    assert notices == ["agents' files are not kept now: the disk is full"]


async def test_beyond_its_limit_nothing_more_is_kept_and_the_user_is_told_once(tmp_path: Path) -> None:
    rig, notices = Rig(tmp_path), list[str]()
    rig.path.write_bytes(b"one\n")
    async with running(rig.keeper(1, notices.append)):
        await until(lambda: bool(notices))
        assert rig.versions() == []
    assert "limit" in notices[0]
    assert "ullage forget --to" in notices[0]


async def test_nothing_is_kept_before_the_user_has_said_so(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "_ASKED_EVERY", 0.0)
    rig, answer, looked, kept = make_rig(), list[bool](), asyncio.Event(), asyncio.Event()
    rig.path.write_bytes(b"one\n")
    settle = rig.originals.settle

    def settled(version_id: int, stat: tuple[int, ...], digest: bytes) -> None:
        settle(version_id, stat, digest)
        loop.call_soon_threadsafe(kept.set)

    monkeypatch.setattr(rig.originals, "settle", settled)

    def is_wanted() -> bool:
        loop.call_soon_threadsafe(looked.set)
        return bool(answer)

    loop = asyncio.get_running_loop()
    ports = KeptPorts(open=lambda: rig.originals, files=rig.files, find=lambda: [rig.source], is_wanted=is_wanted)
    keeper = OriginalsKeeper(ports, None, lambda _: None)
    task = asyncio.create_task(keeper.run())
    found = FoundFile(path=rig.path, agent="Claude Code", origin_id=SESSION)
    try:
        for _ in range(3):
            await asyncio.wait_for(looked.wait(), PATIENCE)
            looked.clear()
            keeper.changed(found, "Claude Code", "")
        assert rig.versions() == []
        answer.append(True)
        keeper.changed(found, "Claude Code", "")
        await asyncio.wait_for(kept.wait(), PATIENCE)
        assert rig.versions() == [b"one\n"]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


_MESSAGES = 60


class _Noting(OriginalsKeeper):
    """A keeper that notes how many messages the store has when it begins."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        opening = lambda: SqliteOriginals(folder / "archive.db")  # noqa: E731
        super().__init__(KeptPorts(open=opening, files=AgentOriginals(), find=list), None)
        self._store = store
        self.began_with = list[int]()
        self.has_begun = asyncio.Event()

    async def run(self) -> None:
        self.began_with += [info.messages for info in self._store.list()]
        self.has_begun.set()


async def test_the_archive_begins_when_large_files_were_read_to_their_ends(tmp_path: Path) -> None:
    logs = [tmp_path / f"{name}.jsonl" for name in ("one", "two", "three")]
    for log in logs:
        common = {"sessionId": log.stem, "cwd": "/home/user/project"}
        ids = [f"{log.stem}-{number}" for number in range(_MESSAGES)]
        prompts = [
            line("user", own, parent, f"{own}?", **common) for own, parent in zip(ids, [None, *ids], strict=False)
        ]
        log.write_bytes(to_bytes(prompts))

    def find(seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        return [FoundFile(path=log, agent="Claude Code", origin_id=log.stem) for log in logs]

    store = MemoryStore()
    keeper, rows = _Noting(tmp_path, store), list[FollowedRow]()
    # A piece has a few lines, and of three files two are read on at a time.
    ports = follower_ports(tmp_path, find, files=GrowingFiles(2_000))
    follower = AgentFollower(build_test_client(store=store).workspace, ports, rows.append, 3600, keeper)
    task = asyncio.create_task(follower.run())
    try:
        await asyncio.wait_for(keeper.has_begun.wait(), PATIENCE)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert keeper.began_with == [_MESSAGES] * 3


DAY = 86_400_000


class Archive:
    """An archive of the conversation `one` of a database."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "agent.db"
        self.path = kept_path(str(self.database), "one")
        self.originals = SqliteOriginals(folder / "store.db.archive")
        self.restart()

    def restart(self) -> None:
        self.files = AgentOriginals()
        self.copier = FileCopier(self.originals, self.files)

    def keep(self, changed_at: int = 0) -> bool:
        source = Source(path=self.path, agent="an agent", origin_id="one", changed_at=changed_at)
        return self.copier.keep(source, is_quiet=True, pack=False)

    def versions(self) -> list[bytes]:
        found = self.originals.find(path=self.path)
        return [b"".join(self.originals.read(version.version_id)) for version in found[0].versions] if found else []

    def delete(self, name: str) -> None:
        with closing(sqlite3.connect(self.database)) as database, database:
            for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                key = "id" if table in ("session", "sessions") else "session_id"
                database.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    kept = Archive(tmp_path)
    yield kept
    kept.originals.close()


@pytest.mark.parametrize("agent", GROWING)
def test_a_deleted_conversation_reads_as_it_did_in_its_database(agent: str, archive: Archive) -> None:
    for rows in GROWING[agent]:
        put(archive.database, rows)
        assert archive.keep()
    before = read_document(read_database(archive.database, "one"))
    archive.delete("one")
    with pytest.raises(FileNotFoundError):
        archive.keep()
    (data,) = archive.versions()
    after = read(data, archive.path)
    assert after.events == before.events
    assert (after.agent, after.session_id, after.title) == (before.agent, before.session_id, before.title)
    assert b"zero" not in data


def test_every_column_of_a_row_is_kept(archive: Archive) -> None:
    row = {"id": "one", "n": 9_007_199_254_740_993, "x": 0.5, "none": None, "text": "Fäßer\n", "blob": b"\xff\x00"}
    put(archive.database, [("sessions", row)])
    archive.keep()
    (data,) = archive.versions()
    assert json.loads(data) == {"table": "sessions", "row": row | {"blob": {"base64": "/wA="}}}


def test_a_conversation_is_read_again_only_when_its_database_or_it_has_changed(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    steps = GROWING["crush"]
    put(archive.database, steps[0])
    archive.keep()
    original = AgentOriginals.opened

    def watched(self: AgentOriginals, path: str) -> object:
        opened.append(path)
        return original(self, path)

    monkeypatch.setattr(AgentOriginals, "opened", watched)
    archive.keep()
    assert not opened
    put(archive.database, steps[1])
    archive.keep()
    assert len(opened) == 1
    # The agent says that it changed this conversation long ago; another one of the database has changed.
    long_ago = archive.database.stat().st_mtime_ns // 1_000_000 - 2 * DAY
    archive.restart()
    put(archive.database, steps[2])
    archive.keep(changed_at=long_ago)
    assert len(opened) == 1
    archive.keep(changed_at=long_ago + 2 * DAY)
    assert len(opened) == 2


def test_a_database_itself_is_not_kept_and_has_no_place_for_a_strange_id(tmp_path: Path) -> None:
    database = str(tmp_path / "agent.db")
    assert [kept_path(database, name) for name in ("", "a/b", "../x")] == ["", "", ""]
    assert kept_path(database, "ses_1") == f"{database}/ses_1.jsonl"
    assert kept_path("/logs/ses_1.jsonl", "other") == "/logs/ses_1.jsonl"
