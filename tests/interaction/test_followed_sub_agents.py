"""Sub-agents' conversations while they continue: sessions of their own, and no rows while their parent is there."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from support.claude_log import ClaudeLog
from support.example_following import FOLLOWED
from support.follower_ports import follower_ports
from support.transcripts import ROOT
from support.workspace import PATIENCE, TestClient, build_test_client
from ullage.agents.discovery import Wanted
from ullage.app.catalogue import find_known
from ullage.app.compose import changed_since
from ullage.cli.commands.watch import Board
from ullage.model.usage import FollowedRow, one_each
from ullage.service.archive.naming import SubAgents
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.ports.agent_files import Growth, Mark, Pieces
from ullage.service.sessions import delete_session
from ullage.system.growing_files import GrowingFiles

MAIN = "11111111-2222-4333-8444-555555555555"
SINCE = 3600.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME", "KIMI_CODE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    return folder


class Follows:
    """A process that follows what is in the home folder. `rows` is what its listener got."""

    def __init__(self, folder: Path, files: GrowingFiles | None = None, since: float = SINCE) -> None:
        self.client: TestClient = build_test_client()
        self.store = self.client.workspace.ports.store
        self.rows: list[FollowedRow] = []
        ports = follower_ports(folder, partial(changed_since, folder / "store.db"), files=files or GrowingFiles())
        self.live = ports.live
        self._follower = AgentFollower(self.client.workspace, ports, self.rows.append, since)
        self._task = asyncio.create_task(self._follower.run())

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0.01)

    def by_origin(self) -> dict[str, str]:
        """Returns the sessions by the agents' own ids."""
        return {one.origin_id: one.session_id for one in self.store.imported()}

    async def end(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def put_main(home: Path) -> Path:
    path = home / ".claude/projects/-p" / f"{MAIN}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ClaudeLog(session=MAIN, cwd="/p").ask("Why?").answer(900).data)
    return path


def put_side(home: Path, name: str = "a1") -> Path:
    path = home / f".claude/projects/-p/{MAIN}/subagents/agent-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ClaudeLog(session=MAIN, cwd="/p").ask(f"Look, {name}").answer(500).data.splitlines()
    records = [json.loads(line) | {"isSidechain": True, "agentId": name} for line in lines]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


async def test_a_sub_agent_is_a_session_with_a_parent_and_has_no_row(home: Path, tmp_path: Path) -> None:
    put_main(home)
    follows = Follows(tmp_path)
    await follows.until(lambda: bool(follows.rows))
    put_side(home)
    await follows.until(lambda: len(follows.by_origin()) == 2)
    # The next sub-agent is read after the listener would have got a row of the first one.
    put_side(home, "a2")
    await follows.until(lambda: len(follows.by_origin()) == 3)
    sessions = follows.by_origin()
    sub_agents = SubAgents.of(follows.store)
    assert sub_agents.shown_under(sessions["a1"]) == sub_agents.shown_under(sessions["a2"]) == sessions[MAIN]
    assert {row.session_id for row in follows.rows} == {sessions[MAIN]}
    await follows.until(lambda: (live := follows.live.read()) is not None and len(live.sessions) == 1)
    await follows.end()


async def test_sub_agents_sessions_are_deleted_with_that_of_the_agent_that_started_them(
    home: Path, tmp_path: Path
) -> None:
    put_main(home)
    put_side(home)
    put_side(home, "a2")
    follows = Follows(tmp_path)
    await follows.until(lambda: len(follows.by_origin()) == 3)
    await follows.end()
    sessions = follows.by_origin()
    await delete_session(follows.client.workspace, sessions["a2"])
    assert {*follows.by_origin()} == {MAIN, "a1"}
    await delete_session(follows.client.workspace, sessions[MAIN])
    assert follows.by_origin() == {}


async def test_one_whose_parent_is_not_there_has_a_row_until_the_parent_comes(home: Path, tmp_path: Path) -> None:
    put_side(home)
    follows = Follows(tmp_path)
    await follows.until(lambda: bool(follows.rows))
    assert (follows.rows[0].parent, follows.rows[0].agent_session_id) == (MAIN, "a1")
    put_main(home)
    await follows.until(lambda: follows.rows[-1].parent == "")
    await follows.end()
    shown = Board()
    for row in follows.rows:
        shown.take(row)
    assert [row.agent_session_id for row in one_each(follows.rows)] == [MAIN]


async def test_a_sub_agent_is_found_by_its_id_and_in_no_list(home: Path, tmp_path: Path) -> None:
    workspace = build_test_client().workspace
    put_main(home)
    put_side(home)
    place = tmp_path / "catalogued.db"
    found = await asyncio.to_thread(find_known, workspace, place, Wanted(limit=5))
    assert [one.origin_id for one in found.conversations] == [MAIN]
    found = await asyncio.to_thread(find_known, workspace, place, Wanted(limit=5, origin="a1"))
    assert [one.origin_id for one in found.conversations] == ["a1"]


async def test_recorded_sub_agents_have_their_recorded_parents(home: Path, tmp_path: Path) -> None:
    if not ROOT.is_dir():
        pytest.skip("the recorded transcripts are not on this machine (set ULLAGE_TRANSCRIPTS)")
    qwen, kimi = "2fd45262-0a01-4039-bfc6-8b432e1bf521", "session_7eeeadf6-1b1a-4eab-8d15-f2dae9468ba5"
    places = {
        "live/claude_code/rewind_and_subagent.jsonl": f".claude/projects/-p/{MAIN}.jsonl",
        "live/claude_code/rewind_and_subagent": f".claude/projects/-p/{MAIN}",
        f"live/qwen-code/{qwen}.jsonl": f".qwen/projects/-p/chats/{qwen}.jsonl",
        "live/qwen-code/subagents": f".qwen/projects/-p/subagents/{qwen}",
        "live/kimi-code/with-subagent": f".kimi-code/sessions/w/{kimi}",
    }
    for source, place in places.items():
        target = home / place
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = ROOT / source
        (shutil.copytree if copied.is_dir() else shutil.copyfile)(copied, target)
    for file in home.rglob("*"):
        file.touch()
    follows = Follows(tmp_path)
    await follows.until(lambda: len(follows.by_origin()) == 6)
    await follows.end()
    sessions = follows.by_origin()
    sub_agents = SubAgents.of(follows.store)
    parents = {"a8210dcb19da6ff1e": MAIN, "general-purpose-call_1": qwen, f"{kimi}/agent-0": kimi}
    assert {own: sub_agents.shown_under(sessions[own]) for own in parents} == {
        own: sessions[parent] for own, parent in parents.items()
    }
    assert {row.agent_session_id for row in follows.rows} == set(parents.values())


def test_the_live_table_shows_a_sub_agent_only_while_its_parent_is_not_in_it() -> None:
    child = replace(FOLLOWED[0], session_id="s_child", agent_session_id="a1", parent=FOLLOWED[0].agent_session_id)
    assert one_each([child]) == [child]
    assert one_each([child, *FOLLOWED]) == list(FOLLOWED)
    assert one_each([replace(child, agent="Codex"), *FOLLOWED])[0].session_id == "s_child"


class SlowFiles(GrowingFiles):
    """Files of which one is not read to its end before `done` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.done = Event()

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        """Reads a file; see `TranscriptFiles.read_on`."""
        if path.stem == MAIN:
            assert self.done.wait(PATIENCE)
        return super().read_on(path, mark, origin_id, pieces=pieces)


async def test_a_file_that_takes_long_does_not_delay_the_others(home: Path, tmp_path: Path) -> None:
    slow, other = put_main(home), home / ".claude/projects/-p/33333333-0000-4000-8000-000000000000.jsonl"
    other.write_bytes(ClaudeLog(session=other.stem, cwd="/p").ask("How?").answer(700).data)
    os.utime(other, (1, 1))
    files = SlowFiles()
    follows = Follows(tmp_path, files=files, since=1e10)
    try:
        await follows.until(lambda: other.stem in follows.by_origin())
        assert slow.stem not in follows.by_origin()
        files.done.set()
        await follows.until(lambda: slow.stem in follows.by_origin())
        grown = ClaudeLog(session=MAIN, cwd="/p").ask("Why?").answer(900).ask("And now?").answer(5_000)
        with slow.open("r+b") as file:
            file.write(grown.data)
        await follows.until(lambda: any((row.used or 0) >= 5_000 for row in follows.rows))
    finally:
        files.done.set()
        await follows.end()
