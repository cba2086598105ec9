"""What the store lacks of the conversations on a machine is read into it, the last changed at first."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from support.agent_databases import USER, opencode, opencode_session, put, said
from support.claude_log import ClaudeLog
from support.foreign import to_lines
from support.homes import Home, put_all, put_claude, put_codex
from support.workspace import build_test_client
from ullage.app import catalogue
from ullage.app.catalogue import KnownConversations, ReadingAll, read_in_background
from ullage.model.usage import FollowedRow, LiveSessions, UsageSource
from ullage.service.conversation.workspace import Workspace
from ullage.store.search.query import written_forms
from ullage.store.sqlite.catalogue import FollowedNow
from ullage.watch.file_parts import has_all

IDS = [f"{number}a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9" for number in range(4)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "ada")
    for number, title in enumerate(["Snow", "Hail", "Fog"]):
        file = put_claude(home, IDS[number], title, tokens=9_000)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    return home


@pytest.fixture
def workspace() -> Workspace:
    return build_test_client().workspace


def reading(home: Home, workspace: Workspace) -> ReadingAll:
    return ReadingAll(workspace, home.path.parent / "store.db", home.machine)


def titles(workspace: Workspace) -> set[str]:
    store = workspace.ports.store
    return {store.info(one.session_id).title for one in store.imported()}


async def test_words_are_looked_for_once_in_a_database_of_many_conversations(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = home.path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    for name in ("one", "two", "three"):
        put(database, [opencode_session(name)])
        for table, columns in opencode(f"m-{name}", USER, said(f"Which port of {name}?")):
            put(database, [(table, columns | {"session_id": name})])
    searched: list[Path] = []

    def noted(path: Path, groups: Iterable[Sequence[bytes]]) -> bool:
        searched.append(path)
        return has_all(path, groups)

    monkeypatch.setattr(catalogue, "has_all", noted)
    everything = reading(home, workspace)
    searched.clear()
    found = [session_id async for session_id in everything.read([["port"]]) if session_id]
    assert titles(workspace) >= {"Which port of one?", "Which port of two?", "Which port of three?"}
    assert len(found) == everything.total
    assert searched.count(database) == 1


async def test_what_a_list_has_estimated_is_counted_in_the_background(home: Home, workspace: Workspace) -> None:
    log = ClaudeLog(session=IDS[3]).ask("Rain. " * 900).answer(60_000).compact(150_000)
    home.put(f".claude/projects/-home-ada-weather/{IDS[3]}.jsonl", log.data)
    place = home.path.parent / "store.db"
    before = KnownConversations(workspace, place, home.machine).found
    (estimated,) = (one for one in before if one.used_source is UsageSource.ESTIMATED)
    await read_in_background(workspace, place, home.machine)
    after = {one.place: one for one in KnownConversations(workspace, place, home.machine).found}
    assert (estimated.is_sure, after[estimated.place].is_sure) == (False, True)
    assert after[estimated.place].used != estimated.used


async def test_what_changed_last_is_read_first_and_what_is_there_is_not_read_again(
    home: Home, workspace: Workspace
) -> None:
    first = reading(home, workspace)
    assert (first.total, first.left) == (3, 3)
    steps = first.read()
    await anext(steps)
    assert (titles(workspace), first.left) == ({"Fog"}, 2)
    await steps.aclose()
    # Another process continues.
    second = reading(home, workspace)
    assert (second.total, second.left) == (3, 2)
    async for _ in second.read():
        # Thousands of conversations do not stay in memory.
        assert not workspace.conversations
    assert titles(workspace) == {"Snow", "Hail", "Fog"}
    assert reading(home, workspace).left == 0


@pytest.mark.parametrize("title", ["Snow", "SNOW", "snowed in"])
async def test_files_that_have_the_words_of_a_search_are_read_before_all_others(
    home: Home, workspace: Workspace, title: str
) -> None:
    file = put_claude(home, IDS[3], f"{title} and früh", tokens=9_000)
    os.utime(file, (1_600_000_000, 1_600_000_000))
    home.put(".claude/projects/-home-ada-weather/empty.jsonl", b"")
    steps = reading(home, workspace).read(written_forms("what of the früh snowing?"))
    while not titles(workspace):
        await anext(steps)
    assert titles(workspace) == {f"{title} and früh"}
    async for _ in steps:
        pass
    assert titles(workspace) == {"Snow", "Hail", "Fog", f"{title} and früh"}


async def test_what_is_read_into_the_store_has_the_folder_that_lists_show(tmp_path: Path, workspace: Workspace) -> None:
    home = Home(tmp_path / "eve")
    put_all(home)
    chat = ".gemini/tmp/weather/chats/session-2026-11-22T11-00-1a1b2c3d.jsonl"
    head = {"sessionId": IDS[1], "projectHash": "x", "kind": "main"}
    asked = {"id": "u1", "type": "user", "timestamp": "2026-11-22T11:00:00Z", "content": [{"text": "Dew?"}]}
    home.put(chat, to_lines(head, asked, {**asked, "id": "g1", "type": "gemini", "content": "Yes."}))
    folders = {one.path: one.cwd for one in KnownConversations(workspace, tmp_path / "store.db", home.machine).found}
    async for _ in reading(home, workspace).read():
        pass
    store = workspace.ports.store
    read = {one.path: store.info(one.session_id).cwd for one in store.imported() if one.path in folders}
    assert read == {path: folders[path] for path in read}
    assert str(home.path / chat) in read


async def test_what_another_process_follows_is_left_to_it(home: Home, workspace: Workspace) -> None:
    file = put_codex(home, IDS[3], "Rain", tokens=9_000)
    row = FollowedRow(session_id="s", agent="Codex", path=str(file))
    live = LiveSessions(at=1, follower=os.getpid(), sessions=(row,))
    FollowedNow(home.path.parent / "store.db").write(live)
    async for _ in reading(home, workspace).read():
        pass
    assert titles(workspace) == {"Snow", "Hail", "Fog"}


async def test_of_two_processes_that_would_read_the_same_one_does(home: Home, workspace: Workspace) -> None:
    first, second = reading(home, workspace), reading(home, workspace)
    steps = first.read()
    await anext(steps)
    assert [one async for one in second.read()] == []
    assert (len(titles(workspace)), second.left) == (1, 3)
    await steps.aclose()
    assert len([one async for one in second.read()]) == 3


async def test_what_sub_agents_said_is_read_after_all_others(home: Home, workspace: Workspace) -> None:
    folder = f".claude/projects/-home-ada-weather/{IDS[0]}/subagents"
    for number, name in enumerate(["agent-a1", "workflows/wf_0a/agent-a2"]):
        log = ClaudeLog(session=IDS[0]).ask(f"Look at tin {number}.").answer(3_000)
        log.rename(name)
        os.utime(home.put(f"{folder}/{name}.jsonl", log.data), (1_700_000_000, 1_700_000_000))
    steps = reading(home, workspace)
    read = [titles(workspace) async for _ in steps.read()]
    assert (steps.total, steps.left) == (5, 0)
    assert read[2] == {"Snow", "Hail", "Fog"}
    assert read[4] == {"Snow", "Hail", "Fog", "Look at tin 0.", "Look at tin 1."}
    assert reading(home, workspace).left == 0


async def test_a_file_without_a_message_is_not_waited_for(home: Home, workspace: Workspace) -> None:
    home.put(f".claude/projects/-home-ada-weather/{IDS[3]}.jsonl", '{"type": "summary", "summary": "None"}\n')
    assert reading(home, workspace).left == 3


async def test_a_process_that_follows_reads_and_indexes_the_rest_in_the_background(
    home: Home, workspace: Workspace
) -> None:
    await read_in_background(workspace, home.path.parent / "store.db", home.machine)
    assert titles(workspace) == {"Snow", "Hail", "Fog"}
    assert workspace.ports.store.index_some() == 0


async def test_what_changes_while_another_process_follows_is_left_to_it(home: Home, workspace: Workspace) -> None:
    live = LiveSessions(at=1, follower=os.getpid(), sessions=())
    FollowedNow(home.path.parent / "store.db").write(live)
    steps = reading(home, workspace)
    (snow,) = home.path.glob(f".claude/projects/*/{IDS[0]}.jsonl")
    os.utime(snow, (4_000_000_000, 4_000_000_000))
    async for _ in steps.read():
        pass
    assert (titles(workspace), steps.left) == ({"Hail", "Fog"}, 1)
