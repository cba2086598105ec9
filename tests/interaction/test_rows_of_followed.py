"""Following in one process: its rows, its listener, and what the workspace says of a followed session."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from support.claude_log import BEGAN, ClaudeLog
from support.example_following import FOLLOWED
from support.hook_place import ID, hook_place
from support.workspace import LARGE_MODEL, PATIENCE, TestClient, build_test_client
from ullage.api.agent_methods import FollowedConversation
from ullage.app.catalogue import BegunCompactions
from ullage.model.errors import Conflict, SessionFollowed
from ullage.model.usage import FollowedRow, Nearness, UsageSource
from ullage.service.follow import rows as rows_module
from ullage.service.follow.rows import Following, LiveRows
from ullage.service.ports.agent_files import FoundFile
from ullage.service.ports.models import KeepingQuestion


class Changes:
    """Collects what a listener gets."""

    def __init__(self) -> None:
        self.messages: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self.came = asyncio.Event()

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        self.messages.append((tuple(row.session_id for row in rows), tuple(gone)))
        self.came.set()

    async def next(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        await asyncio.wait_for(self.came.wait(), PATIENCE)
        self.came.clear()
        return self.messages[-1]


async def run_for_ever(_: Callable[[FollowedRow], object]) -> None:
    await asyncio.Event().wait()


async def read_nothing(_: str) -> FollowedRow | None:
    return None


class Answers:
    """A user who was not asked yet."""

    def __init__(self) -> None:
        self.wanted: bool | None = None

    def question(self) -> KeepingQuestion | None:
        return None if self.wanted is not None else KeepingQuestion(conversations=2, size=9, path="/a", limit=None)

    def answer(self, *, keep: bool) -> None:
        self.wanted = keep


async def test_the_user_is_asked_about_keeping_until_there_is_an_answer() -> None:
    for wanted in (True, False):
        client = build_test_client()
        answers = Answers()
        client.workspace.following = Following(client.workspace, run_for_ever, read_nothing, Changes(), answers)
        for _ in range(2):
            started = await client.call("following/start")
            assert started["keeping"] == {"conversations": 2, "size": 9, "path": "/a", "limit": None}
        await client.call("following/keep", keep=wanted)
        assert answers.wanted is wanted
        assert (await client.call("following/start"))["keeping"] is None
        await client.workspace.following.stop()


def following_in(client: Any) -> tuple[Following, Changes]:
    changes = Changes()
    return Following(client.workspace, run_for_ever, read_nothing, changes, Answers()), changes


async def test_changes_at_once_are_one_message_and_an_equal_row_is_none() -> None:
    following, changes = following_in(build_test_client())
    await following.start(())
    for row in (*FOLLOWED, FOLLOWED[0]):
        following.take(row)
    assert await changes.next() == (tuple(row.session_id for row in FOLLOWED), ())
    following.take(FOLLOWED[0])
    following.take(replace(FOLLOWED[1], messages=3))
    assert await changes.next() == ((FOLLOWED[1].session_id,), ())
    assert len(changes.messages) == 2
    assert [row.session_id for row in following.rows] == [row.session_id for row in FOLLOWED]
    await following.stop()
    assert (following.is_on, following.rows) == (False, ())


async def test_only_the_conversations_of_the_given_folders_are_listed_if_a_client_asks_for_it() -> None:
    client = build_test_client()
    client.workspace.following, changes = following_in(client)
    here, below, beside = (
        replace(FOLLOWED[0], session_id=name, agent_session_id=name, path=name, cwd=cwd)
        for name, cwd in (("s1", "/home/user/shop"), ("s2", "/home/user/shop/web"), ("s3", "/home/user/shopping"))
    )
    for params, listed in (({"folders": ["/home/user/shop"], "all": False}, ("s1", "s2")), ({}, ("s1", "s2", "s3"))):
        await client.call("following/start", **params)
        for number, row in enumerate((here, below, beside), start=len(listed)):
            client.workspace.following.take(replace(row, messages=number))
        assert await changes.next() == (listed, ())
        started = await client.call("following/start", **params)
        assert sorted(row["sessionId"] for row in started["rows"]) == list(listed)
    await client.workspace.following.stop()


async def test_a_file_that_was_written_again_takes_the_place_of_its_earlier_session() -> None:
    following, changes = following_in(build_test_client())
    await following.start(())
    following.take(FOLLOWED[0])
    await changes.next()
    following.take(replace(FOLLOWED[0], session_id="s_other"))
    assert await changes.next() == (("s_other",), (FOLLOWED[0].session_id,))
    assert [row.session_id for row in following.rows] == ["s_other"]
    # The file may hold another conversation now.
    following.take(replace(FOLLOWED[0], session_id="s_new", agent_session_id="another"))
    assert await changes.next() == (("s_new",), ("s_other",))
    await following.stop()


async def test_a_conversation_takes_the_place_of_those_of_its_sub_agents() -> None:
    following, changes = following_in(build_test_client())
    await following.start(())
    parent = FOLLOWED[0]
    following.take(replace(parent, session_id="s_child", agent_session_id="a1", parent=parent.agent_session_id))
    await changes.next()
    following.take(parent)
    assert await changes.next() == ((parent.session_id,), ("s_child",))
    assert following.rows == (parent,)
    await following.stop()


async def test_a_fork_takes_the_place_of_the_conversation_that_it_names() -> None:
    following, changes = following_in(build_test_client())
    await following.start(())
    following.take(FOLLOWED[0])
    await changes.next()
    fork = replace(FOLLOWED[0], session_id="s_fork", agent_session_id="fork", forks=(FOLLOWED[0].agent_session_id,))
    following.take(fork)
    assert await changes.next() == (("s_fork",), (FOLLOWED[0].session_id,))
    # A list of stored sessions has it still.
    following.take(replace(FOLLOWED[0], live=False))
    assert following.rows == (fork,)
    await following.stop()


async def test_of_very_many_rows_those_go_that_ended_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_MOST", 2)
    following, changes = following_in(build_test_client())
    await following.start(())
    for number, is_live in enumerate((True, False, False)):
        name = f"s{number}"
        row = replace(FOLLOWED[0], session_id=name, agent_session_id=name, path=name, live=is_live, updated_at=number)
        following.take(row)
    assert await changes.next() == (("s0", "s2"), ("s1",))
    assert [row.session_id for row in following.rows] == ["s2", "s0"]
    await following.stop()


async def test_a_session_can_be_changed_again_when_following_has_stopped(client: TestClient) -> None:
    session_id: str = (await client.call("session/new"))["sessionId"]
    following, _ = following_in(client)
    await following.start(())
    following.take(replace(FOLLOWED[0], session_id=session_id))
    usage = await client.call("context/get", sessionId=session_id)
    assert usage["_meta"]["ullage"]["followed"] == {"agent": "Claude Code", "path": FOLLOWED[0].path}
    with pytest.raises(SessionFollowed, match=r"which Ullage only reads: compact it there, .* or fork the session"):
        await client.say(session_id, "Hello?")
    await following.stop()
    await client.say(session_id, "Hello?")
    usage = await client.call("context/get", sessionId=session_id)
    assert usage["_meta"]["ullage"]["followed"] is None


async def test_a_door_that_does_not_follow_says_so(client: TestClient) -> None:
    with pytest.raises(Conflict, match="can't be followed through this connection"):
        await client.call("following/start")
    answer = await client.call("following/list")
    assert answer == {"following": False, "rows": [], "keeping": None, "desktop": False}


def test_what_is_sent_has_every_field_of_a_row() -> None:
    sent = {field.name: field.type for field in fields(FollowedConversation)}
    assert set(sent) == {field.name for field in fields(FollowedRow)}


async def test_an_open_session_shows_the_row_s_figure_as_soon_as_the_row_has_changed(client: TestClient) -> None:
    session_id: str = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    following, _ = following_in(client)
    await following.start(())
    client.recorder.take()
    row = replace(FOLLOWED[0], session_id=session_id, used=128_501, updated_at=2**42)
    following.take(row)
    following.take(replace(row, used=22_071, percent=11, used_source=UsageSource.ESTIMATED))
    following.take(replace(row, used=22_071, percent=11, used_source=UsageSource.ESTIMATED, live=False))
    assert [update["used"] for update in client.recorder.take()] == [128_501, 22_071]
    usage = await client.call("context/get", sessionId=session_id)
    assert (usage["used"], usage["_meta"]["ullage"]["percent"]) == (22_071, 11)
    await following.stop()


async def test_a_session_that_is_deleted_is_gone_from_the_list(client: TestClient) -> None:
    session_id = (await client.call("session/new"))["sessionId"]
    following, changes = following_in(client)
    await following.start(())
    for row in (replace(FOLLOWED[0], session_id=session_id), FOLLOWED[1]):
        following.take(row)
    await changes.next()
    await client.call("session/delete", sessionId=session_id)
    assert await changes.next() == ((), (session_id,))
    assert [row.session_id for row in following.rows] == [FOLLOWED[1].session_id]
    await following.stop()


SECOND, MINUTE = 1_000, 60_000
RUNS = {("Claude Code", ID): 7}
FOUND = FoundFile(path=Path(f"/logs/{ID}.jsonl"), agent="Claude Code", origin_id=ID)


async def live_rows(log: ClaudeLog, now: int) -> LiveRows:
    live, client = LiveRows(lambda _agent, _id: False), build_test_client()
    session = (await client.call("session/import", text=log.text))["session"]["sessionId"]
    live.take(FOUND, client.workspace.open(session), now)
    return live


def nearness(live: LiveRows) -> Nearness | None:
    (row,) = live.snapshot(0, 1).sessions
    return row.nearness


async def test_a_compaction_that_has_begun_is_shown_until_it_is_too_old_or_its_agent_is_gone() -> None:
    log = ClaudeLog(session=ID).ask("Why?").answer(900)
    began = log.now
    live = await live_rows(log, began)
    live.know(RUNS, {ID: began}, began)
    assert (nearness(live), live.until_over(began)) == (Nearness.COMPACTING, pytest.approx(300, abs=1))
    live.know(RUNS, {ID: began}, began + 6 * MINUTE)
    assert nearness(live) is Nearness.FAR
    live.know({("Claude Code", ID): None}, {ID: began}, began)
    assert nearness(live) is None


async def test_what_the_agent_writes_next_ends_it() -> None:
    log = ClaudeLog(session=ID).ask("Why?").answer(900)
    began = log.now
    live = await live_rows(log.ask("And now?"), began + MINUTE)
    live.know(RUNS, {ID: began - SECOND}, began + MINUTE)
    assert nearness(live) is Nearness.FAR


def test_hooks_say_that_a_compaction_has_begun_and_that_it_has_ended(tmp_path: Path) -> None:
    with hook_place(tmp_path) as place:
        compactions = BegunCompactions(place.store)
        assert compactions() == {}
        place.begun()
        assert [*compactions()] == [ID]
        assert compactions()[ID] > BEGAN
        place.summarized()
        place.hook(hook_event_name="SessionStart", source="compact")
        assert compactions() == {}
