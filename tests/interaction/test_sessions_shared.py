"""Sessions that other sessions, other processes and other programs share."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.build import assistant, user
from support.coding_session import SYSTEM, TOOLS, first_turn, thinking_turn
from support.fill import exchange, fill, start
from support.workspace import SMALL_MODEL, Recorder, TestClient, build_test_client
from ullage.app.compose import open_workspace
from ullage.model.errors import InvalidRequest, MessageNotFound, SessionNotFound
from ullage.model.events import SessionCreated
from ullage.model.settings import Settings, SummarySettings
from ullage.service.conversation.workspace import Follower, Workspace
from ullage.service.sessions import append, delete_session, new_session


def another_process(client: TestClient) -> TestClient:
    """Returns a client of a second workspace on the same store."""
    return build_test_client(store=client.workspace.ports.store, ids=client.ids)


def contents(entries: list[Any]) -> list[Any]:
    return [entry["message"]["content"] for entry in entries]


async def test_a_fork_shares_the_past_with_its_counts_and_goes_its_own_way(client: TestClient) -> None:
    session_id = await fill(client)
    fork = await client.call("session/fork", sessionId=session_id)
    assert fork["usage"]["used"] == (await client.call("context/get", sessionId=session_id))["used"]
    assert await client.entries(fork["sessionId"]) == await client.entries(session_id)
    await client.call("context/compact", sessionId=fork["sessionId"])
    assert len(await client.entries(session_id)) == 15


async def test_processes_on_one_store_see_each_others_messages_and_edits() -> None:
    ours = build_test_client()
    session_id = await fill(ours)
    theirs = another_process(ours)
    await theirs.call("session/load", sessionId=session_id)
    await exchange(theirs, session_id, 7)
    await exchange(ours, session_id, 20)
    assert await ours.entries(session_id) == await theirs.entries(session_id)
    await theirs.call("context/compact", sessionId=session_id)
    assert await ours.entries(session_id) == await theirs.entries(session_id)
    await ours.call("context/undo", sessionId=session_id)
    assert await ours.entries(session_id) == await theirs.entries(session_id)
    assert len([e for e in await ours.entries(session_id, "transcript") if not e["inserted"]]) == 19


async def test_an_imported_session_keeps_the_folder_that_its_transcript_names() -> None:
    ours, theirs = build_test_client(), build_test_client()
    new = await ours.call("session/new", cwd="/home/ada/weather")
    await ours.say(new["sessionId"], "Hello")
    exported = await ours.call("session/export", sessionId=new["sessionId"])
    nowhere = '[{"role":"user","content":"Good morning"},{"role":"assistant","content":"Good morning."}]'
    for text in (exported["text"], nowhere):
        await theirs.call("session/import", text=text, cwd="/home/ada/open")
    listed = (await theirs.call("session/list"))["sessions"]
    assert sorted(session["cwd"] for session in listed) == ["/home/ada/open", "/home/ada/weather"]


@pytest.mark.parametrize("shape", ["anthropic", "openai"])
async def test_a_providers_request_imports_as_the_conversation_it_holds(shape: str, client: TestClient) -> None:
    new = await client.call("session/new", model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    await client.call("session/append", sessionId=session_id, messages=[*first_turn(), *thinking_turn(1)])
    exported = await client.call("session/export", sessionId=session_id, format=shape)
    assert isinstance(json.loads(exported["text"])["messages"], list)
    imported = await client.call("session/import", text=exported["text"])
    copy = await client.entries(imported["session"]["sessionId"])
    assert contents(copy) == contents(await client.entries(session_id))


async def test_search_finds_what_was_archived(client: TestClient) -> None:
    session_id = await start(client)
    await client.say(session_id, "Begin.", "The secret word is quincunx.")
    for number in range(9):
        await exchange(client, session_id, number)
    assert "quincunx" not in json.dumps([e for e in await client.entries(session_id) if not e["inserted"]])
    (hit,) = (await client.call("context/search", query="quincunx", sessionId=session_id))["hits"]
    assert (hit["index"], hit["role"]) == (2, "assistant")
    assert "**quincunx**" in hit["snippet"]
    page = await client.call("context/messages", sessionId=hit["sessionId"], messageId=hit["messageId"])
    (entry,) = page["entries"]
    assert (entry["index"], entry["archived"], page["total"]) == (2, True, 1)
    assert entry["message"]["content"] == [{"type": "text", "text": "The secret word is quincunx."}]
    with pytest.raises(MessageNotFound, match="context/search gives the ids"):
        await client.call("context/messages", sessionId=session_id, messageId="m_none")


async def test_sessions_are_listed_by_folder_and_gone_once_deleted(client: TestClient) -> None:
    first = await client.call("session/new", cwd="/projects/a", title="A")
    client.clock.advance(seconds=1)
    await client.call("session/new", cwd="/projects/b", title="B")
    listed = await client.call("session/list")
    assert [session["title"] for session in listed["sessions"]] == ["B", "A"]
    assert "nextCursor" not in listed
    assert len((await client.call("session/list", cwd="/projects/a"))["sessions"]) == 1
    await client.call("session/delete", sessionId=first["sessionId"])
    assert (await client.call("session/list", cwd="/projects/a"))["sessions"] == []
    with pytest.raises(SessionNotFound):
        await client.call("context/get", sessionId=first["sessionId"])


async def test_a_session_gets_another_title_and_clients_are_told(client: TestClient) -> None:
    session_id = await fill(client)
    await client.call("session/rename", sessionId=session_id, title="  Expiry of\n tokens ")
    [listed] = (await client.call("session/list"))["sessions"]
    assert listed["title"] == "Expiry of tokens"
    told = [update["title"] for update in client.recorder.take() if "title" in update]
    assert told[-1] == "Expiry of tokens"
    with pytest.raises(InvalidRequest, match="a title needs at least one character"):
        await client.call("session/rename", sessionId=session_id, title=" ")


async def test_a_long_list_comes_in_pages(client: TestClient) -> None:
    for _ in range(130):
        await client.call("session/new", title="a talk")
    first = await client.call("session/list")
    rest = await client.call("session/list", cursor=first["nextCursor"])
    assert (len(first["sessions"]), len(rest["sessions"])) == (100, 30)
    ids = {session["sessionId"] for page in (first, rest) for session in page["sessions"]}
    assert len(ids) == 130


SETTINGS = Settings(model="gpt-4o", summary=SummarySettings(writer="offline"))


class Two:
    """A writing process and a reading process, with the events that the reader's listener got."""

    def __init__(self, writer: Workspace, looker: Workspace) -> None:
        self.writer = writer
        self.looker = looker
        self.session_id = new_session(writer, SessionCreated(cwd="/project")).id
        self.told = Recorder()
        looker.bus.listen(self.told)
        looker.open(self.session_id)
        self.follower = Follower(looker)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    store = tmp_path / "sessions.db"
    with open_workspace(store, SETTINGS) as writer, open_workspace(store, SETTINGS) as looker:
        yield Two(writer, looker)


async def test_messages_of_another_process_are_published_with_title_and_usage(two: Two) -> None:
    await append(two.writer.open(two.session_id), [user("m1", "Rename the parser"), assistant("m2")], None)
    two.follower.look()
    told = two.told.take()
    assert [update["sessionUpdate"] for update in told] == ["session_info_update", "usage_update"]
    assert told[0]["title"] == "Rename the parser"
    assert told[1]["used"] == two.writer.open(two.session_id).used


async def test_no_change_is_published_twice_nor_an_own_change(two: Two) -> None:
    await append(two.writer.open(two.session_id), [user("m1")], None)
    two.follower.look()
    two.told.take()
    two.follower.look()
    await append(two.looker.open(two.session_id), [assistant("m2")], None)
    two.told.take()
    two.follower.look()
    assert two.told.take() == []


async def test_sessions_that_are_not_open_here_are_not_opened(two: Two) -> None:
    other = new_session(two.writer, SessionCreated(cwd="/other")).id
    await append(two.writer.open(other), [user("m1")], None)
    two.follower.look()
    assert two.told.take() == []
    assert not two.looker.is_open(other)


async def test_a_session_that_was_deleted_elsewhere_is_let_go(two: Two) -> None:
    await delete_session(two.writer, two.session_id)
    two.follower.look()
    assert not two.looker.is_open(two.session_id)
    with pytest.raises(SessionNotFound):
        two.looker.open(two.session_id)
