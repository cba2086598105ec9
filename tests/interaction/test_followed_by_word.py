"""Files are looked at when the operating system says that they have changed, and all of them if it was wrong."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from support.agent_databases import DONE, USER, opencode, opencode_session, put, said
from support.claude_log import BEGAN, MODEL, ClaudeLog
from support.follower_ports import follower_ports
from support.workspace import PATIENCE, build_test_client
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.errors import StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.model.usage import FollowedRow, LiveSessions
from ullage.service.conversation.usage import shown_figures
from ullage.service.follow import agent_follower, followed_file
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.ports.agent_files import Changes, FoundFile, Mark
from ullage.service.sessions import new_session
from ullage.system import growing_files
from ullage.system.growing_files import GrowingFiles


class Words:
    """What the system says, by the words of a test."""

    def __init__(self) -> None:
        self.is_complete = True
        self.is_trusted = True
        self._pending = Changes()
        self._wake: Callable[[], object] = bool
        self.begun = asyncio.Event()

    def begin(self, wake: Callable[[], object], /) -> None:
        self._wake = wake

    def arrange(self) -> None:
        pass

    def say(self, *paths: Path) -> None:
        self._pending = Changes(paths=frozenset(map(str, paths)))
        self._wake()

    def say_anywhere(self) -> None:
        """Says that a folder has gone."""
        self._pending = Changes(is_anywhere=True)
        self._wake()

    def say_own(self) -> None:
        """Says that a file next to the store has changed."""
        self._pending = Changes(is_own=True)
        self._wake()

    def changes(self) -> Changes:
        pending, self._pending = self._pending, Changes()
        return pending

    def covers(self, _: Path, /) -> bool:
        return self.is_trusted

    def tells_end_of(self, _: int, /) -> bool:
        return True

    def distrust(self) -> None:
        self.is_complete = self.is_trusted = False

    def end(self) -> None:
        pass


class Counted(GrowingFiles):
    """Files with the number of looks at them."""

    looks = 0

    def has_changed(self, path: Path, mark: Mark | None) -> bool:
        self.looks += 1
        return super().has_changed(path, mark)


class Held:
    """A lease that another process holds."""

    def take(self) -> bool:
        return False

    def give_up(self) -> None:
        pass


class Shown:
    """What the process that follows shows: one after another at each look, and then no change."""

    def __init__(self, *shown: LiveSessions | None) -> None:
        self._shown = list(shown)

    def read(self) -> LiveSessions | None:
        return self._shown.pop(0) if self._shown else None

    def write(self, shown: LiveSessions, /) -> None:
        raise AssertionError(shown)


def _nothing(seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
    return ()


@asynccontextmanager
async def showing(
    folder: Path, words: Words, *shown: LiveSessions | None
) -> AsyncGenerator[asyncio.Queue[FollowedRow]]:
    """A process that shows what another one does. Yields its rows."""
    rows = asyncio.Queue[FollowedRow]()
    ports = follower_ports(folder, _nothing, watching=words, lease=Held(), live=Shown(*shown))
    follower = AgentFollower(build_test_client().workspace, ports, rows.put_nowait, 1e12)
    task = asyncio.create_task(follower.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await follower.looked.wait()
            yield rows
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def of(session_id: str, used: int) -> LiveSessions:
    row = FollowedRow(session_id=session_id, agent="Claude Code", path="/a", used=used, live=True)
    return LiveSessions(at=1, follower=9, sessions=(row,))


async def test_what_another_process_shows_is_looked_at_again_because_the_word_comes_before_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_TAKE_SELDOM", 10 * PATIENCE)
    words = Words()
    async with showing(tmp_path, words, of("s", 1), None, None, of("s", 2)) as rows:
        assert (await rows.get()).used == 1
        words.say_own()
        assert (await rows.get()).used == 2


async def test_that_a_session_has_ended_is_told_before_the_one_that_takes_its_place(tmp_path: Path) -> None:
    async with showing(tmp_path, Words(), of("s", 1), of("t", 2)) as rows:
        told = [await rows.get() for _ in range(3)]
    assert [(row.session_id, row.used, row.live) for row in told] == [("s", 1, True), ("s", 1, False), ("t", 2, True)]


class Rig:
    """A follower of one log, the files that it finds, and its rows."""

    def __init__(self, folder: Path, since: float = 3600) -> None:
        self.words, self.files = Words(), Counted()
        self.path = folder / "log.jsonl"
        self.log = ClaudeLog()
        self.found = [FoundFile(path=self.path, agent="Claude Code", origin_id="s")]
        self.rows: asyncio.Queue[FollowedRow] = asyncio.Queue()
        self.asked: list[Collection[str] | None] = []
        ports = follower_ports(folder, self._find, files=self.files, watching=self.words)
        self.workspace = build_test_client().workspace
        self._follower = AgentFollower(self.workspace, ports, self.rows.put_nowait, since)

    def _find(self, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        self.asked.append(paths)
        return [one for one in self.found if one.path.exists() and (paths is None or str(one.path) in paths)]

    def write(self, words: str) -> None:
        self.log.ask(words).answer(1_000)
        self.path.write_bytes(self.log.data)

    async def until(self, messages: int) -> FollowedRow:
        async with asyncio.timeout(PATIENCE):
            while (row := await self.rows.get()).messages != messages:
                pass
        return row

    async def searched(self, times: int) -> None:
        """Waits until there were so many searches."""
        async with asyncio.timeout(PATIENCE):
            while len(self.asked) < times:
                await asyncio.sleep(0)

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        task = asyncio.create_task(self._follower.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_a_file_is_read_when_the_system_says_that_it_has_changed(rig: Rig) -> None:
    rig.write("one")
    async with rig.following():
        await rig.until(2)
        rig.write("two")
        rig.words.say(rig.path)
        await rig.until(4)


def log_of(*prompts: int) -> bytes:
    """Returns a log of answers whose prompts had so many tokens."""
    log = ClaudeLog()
    for tokens in prompts:
        log.ask().answer(tokens)
    return log.data


def value_of(*prompts: int) -> bytes:
    """Returns a conversation of Cline's, which is one JSON value, of answers whose prompts had so many tokens."""
    messages: list[Mapping[str, object]] = []
    for number, tokens in enumerate(prompts):
        content = [{"type": "text", "text": "Go on."}]
        messages.append({"id": f"u{number}", "role": "user", "content": content, "ts": BEGAN + 2 * number})
        metrics = {"inputTokens": tokens, "outputTokens": 50, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        model = {"id": MODEL, "provider": "anthropic"}
        answer = {"id": f"a{number}", "role": "assistant", "content": content, "ts": BEGAN + 2 * number + 1}
        messages.append(answer | {"modelInfo": model, "metrics": metrics})
    value = {"version": 1, "updated_at": "2025-11-22", "sessionId": "s", "messages": messages}
    return json.dumps(value, indent=1).encode()


@pytest.mark.parametrize("written", [log_of, value_of])
async def test_of_a_file_that_becomes_shorter_the_figure_of_its_end_is_shown_and_nothing_is_lost(
    rig: Rig, written: Callable[..., bytes]
) -> None:
    async def shown(used: int) -> FollowedRow:
        async with asyncio.timeout(PATIENCE):
            while (row := await rig.rows.get()).used != used:
                pass
        rig.workspace.followed[row.session_id] = row
        return row

    rig.path.write_bytes(written(10_000, 20_000, 30_000))
    async with rig.following():
        whole = await shown(30_050)
        conversation = rig.workspace.open(whole.session_id)
        held = conversation.transcript.messages
        rig.path.write_bytes(written(10_000))
        rig.words.say(rig.path)
        cut = await shown(10_050)
        assert (cut.session_id, cut.used_source) == (whole.session_id, whole.used_source)
        assert shown_figures(conversation)[0] == 10_050
        assert conversation.transcript.messages == held
        rig.path.write_bytes(written(10_000, 20_000, 30_000))
        rig.words.say(rig.path)
        assert (await shown(30_050)).session_id == whole.session_id
        assert len(rig.workspace.ports.store.list()) == 1
        rig.path.write_bytes(written(10_000, 25_000))
        rig.words.say(rig.path)
        await shown(25_050)


async def test_a_new_file_is_found_without_a_search_of_all(rig: Rig) -> None:
    async with rig.following():
        await rig.searched(1)
        rig.write("one")
        rig.words.say(rig.path)
        await rig.until(2)
    assert rig.asked == [None, {str(rig.path)}]


async def test_a_conversation_that_a_database_gets_is_found_soon_after_each_change(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_SEARCH_EVERY", 600.0)
    path = rig.path.with_name("opencode.db")
    async with rig.following():
        for name in ("one", "two", "three", "four"):
            rows = [
                *opencode(f"u{name}", USER, said(f"Which port is {name}?")),
                *opencode(f"a{name}", DONE, said("8042.")),
            ]
            put(path, [opencode_session(name), *((table, row | {"session_id": name}) for table, row in rows)])
            rig.found.append(FoundFile(path=path, agent="opencode", origin_id=name))
            rig.words.say(path)
            async with asyncio.timeout(PATIENCE):
                while (await rig.rows.get()).agent_session_id != name:
                    pass


def put_answered(rig: Rig) -> Path:
    """Puts a question and its answer into a database of opencode that is followed. Returns its path."""
    path = rig.path.with_name("opencode.db")
    rig.found = [FoundFile(path=path, agent="opencode", origin_id="one")]
    talk = (*opencode("m1", USER, said("Which port?")), *opencode("m2", DONE, said("8042.")))
    put(path, [opencode_session("one"), *talk])
    return path


async def test_what_a_database_does_not_show_yet_is_looked_at_again_however_long_it_was_quiet(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing_files, "_VISIBLE", 3_600 * 10**9)
    for name, value in {"_SEARCH_EVERY": 600.0, "_RECENT": 0.0, "_LOOK_OFTEN": 2 * PATIENCE}.items():
        monkeypatch.setattr(agent_follower, name, value)
    path = put_answered(rig)
    async with rig.following():
        await rig.until(2)
        # The word came with what was written before.
        put(path, [*opencode("m3", USER, said("Why?")), *opencode("m4", DONE, said("It is free."))])
        await rig.until(4)


async def test_a_database_that_took_long_to_read_is_read_soon_after_the_next_changes(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As after a look that took as long.
    for name, value in {"_TOLD_EVERY": 10 * PATIENCE, "_SETTLES": (10 * PATIENCE,)}.items():
        monkeypatch.setattr(agent_follower, name, value)
    path = put_answered(rig)
    async with rig.following():
        await rig.until(2)
        monkeypatch.setattr(agent_follower, "_TOLD_EVERY", 0.0)
        monkeypatch.setattr(growing_files, "_VISIBLE", 3_600 * 10**9)
        put(path, [*opencode("m3", USER, said("Why?")), *opencode("m4", DONE, said("It is free."))])
        rig.words.say_anywhere()
        await rig.until(4)
        put(path, [*opencode("m5", USER, said("Is it?")), *opencode("m6", DONE, said("It is."))])
        rig.words.say(path)
        await rig.until(6)


async def test_a_conversation_that_begins_with_a_prompt_in_parts_has_its_row_before_it_has_settled(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_SETTLES", (2 * PATIENCE,))
    path = rig.path.with_name("opencode.db")
    rig.found = [FoundFile(path=path, agent="opencode", origin_id="one")]
    put(path, [opencode_session("one"), *opencode("m1", USER, said("Which port?"), said("1: x") | {"synthetic": True})])
    async with rig.following():
        await rig.until(1)


async def test_everything_is_looked_at_after_a_change_of_which_nothing_was_said(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_TRUSTED", 0.05)
    monkeypatch.setattr(agent_follower, "_SETTLES", (0.001, 300.0))
    rig.write("one")
    async with rig.following():
        await rig.until(2)
        await rig.searched(len(rig.asked) + 3)
        rig.write("two")
        await rig.until(4)
        assert not rig.words.is_trusted
        rig.write("three")
        await rig.until(6)


async def test_a_file_is_looked_at_once_the_system_no_longer_tells_of_its_folder(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_SETTLES", (0.001, 300.0))
    rig.write("one")
    async with rig.following():
        await rig.until(2)
        # It has settled, and the next look at it is far away.
        looks = -1
        while looks != rig.files.looks:
            looks = rig.files.looks
            await asyncio.sleep(0.05)
        rig.words.distrust()
        rig.words.say_anywhere()
        await rig.searched(2)
        rig.write("two")
        await rig.until(4)


async def test_a_conversation_that_is_over_is_closed_and_one_that_was_open_before_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_QUIET", 0.1)
    rig = Rig(tmp_path, since=0.1)
    other = new_session(rig.workspace, SessionCreated(cwd="/home/me")).id
    rig.write("one")
    async with rig.following():
        followed = (await rig.until(2)).session_id
        async with asyncio.timeout(PATIENCE):
            while rig.workspace.is_open(followed):
                await asyncio.sleep(0)
        assert rig.workspace.is_open(other)
        # It is followed again when it goes on.
        rig.write("two")
        rig.words.say(rig.path)
        assert (await rig.until(4)).session_id == followed


async def test_what_has_read_a_file_that_rests_leaves_the_memory_and_the_file_is_read_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_SETTLES", (0.001, 0.01))
    for module in (agent_follower, followed_file):
        monkeypatch.setattr(module, "ENDED", 0.01)

    readings = WeakSet[TranscriptBuilder]()
    begin = TranscriptBuilder.__init__

    def begun(builder: TranscriptBuilder, *args: Any) -> None:
        begin(builder, *args)
        readings.add(builder)

    monkeypatch.setattr(TranscriptBuilder, "__init__", begun)
    rig.write("one")
    async with rig.following():
        for number, text in enumerate(("two", "three", "four"), 1):
            await rig.until(2 * number)
            async with asyncio.timeout(PATIENCE):
                while readings:
                    gc.collect()
                    await asyncio.sleep(0.01)
            rig.write(text)
            rig.words.say(rig.path)
        await rig.until(8)


async def test_a_store_that_cannot_be_read_for_a_moment_does_not_end_the_following_of_a_file_that_rests(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_follower, "_SETTLES", (0.001, 0.01))
    monkeypatch.setattr(agent_follower, "ENDED", 0.01)
    failed = asyncio.Event()

    def resume(*_: object) -> bool:
        failed.set()
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(followed_file.FollowedFile, "resume", resume)
    rig.write("one")
    async with rig.following(), asyncio.timeout(PATIENCE):
        await failed.wait()
        rig.write("two")
        rig.words.say(rig.path)
        await rig.until(4)
