"""`transcripts/list`: the conversations that agents keep on this machine, next to the sessions imported from them."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.homes import PROJECT, Home, put_all, put_claude, put_codex
from support.workspace import TestClient, build_test_client
from ullage.agents.discovery import Discovery, Wanted
from ullage.app.catalogue import find_known


class HomeFinder:
    """Finds what is in a made-up home."""

    def __init__(self, home: Home, client: TestClient) -> None:
        self._home = home
        self._client = client

    def __call__(self, wanted: Wanted) -> Discovery:
        return find_known(self._client.workspace, self._home.path.parent / "store.db", wanted, self._home.machine)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "ada")


@pytest.fixture
def client(home: Home) -> TestClient:
    client = build_test_client()
    client.workspace.ports = replace(client.workspace.ports, transcripts=HomeFinder(home, client))
    return client


async def listed(client: TestClient, **params: Any) -> list[dict[str, Any]]:
    return (await client.call("transcripts/list", **params))["transcripts"]


async def test_every_agents_conversations_are_listed(client: TestClient, home: Home) -> None:
    kept = put_all(home)
    found = await listed(client, cwd=PROJECT)
    assert {one["agent"] for one in found} == {one.agent for one in kept}
    assert [one["here"] for one in found] == sorted((one["here"] for one in found), reverse=True)
    assert all(one["bytes"] > 0 and one["sessionId"] is None for one in found)


async def test_other_folders_are_left_out_if_they_are_not_asked_for(client: TestClient, home: Home) -> None:
    put_claude(home, "a" * 8, "here")
    put_codex(home, "b" * 8, "there", "/home/ada/login")
    assert [one["title"] for one in await listed(client, cwd=PROJECT)] == ["here", "there"]
    assert [one["title"] for one in await listed(client, cwd=PROJECT, all=False)] == ["here"]
    assert [one["title"] for one in await listed(client)] == ["there", "here"]
    assert [one["title"] for one in await listed(client, limit=1)] == ["there"]


@pytest.mark.parametrize("put", [put_claude, put_codex])
async def test_an_imported_conversation_names_its_session(client: TestClient, home: Home, put: Any) -> None:
    path = put(home)
    imported = await client.call("session/import", path=str(path))
    (one,) = await listed(client)
    assert one["sessionId"] == imported["session"]["sessionId"]
    await client.call("session/delete", sessionId=one["sessionId"])
    (one,) = await listed(client)
    assert one["sessionId"] is None


async def test_a_fork_of_an_imported_session_is_not_the_conversations_session(client: TestClient, home: Home) -> None:
    imported = await client.call("session/import", path=str(put_claude(home)))
    session_id = imported["session"]["sessionId"]
    await client.call("session/fork", sessionId=session_id)
    (one,) = await listed(client)
    assert one["sessionId"] == session_id


async def test_a_file_that_cannot_be_read_is_told_beside_the_others(client: TestClient, home: Home) -> None:
    put_claude(home)
    broken = home.put(".local/share/goose/sessions/sessions.db", b"no database")
    result = await client.call("transcripts/list")
    assert len(result["transcripts"]) == 1
    assert [one["path"] for one in result["unread"]] == [str(broken)]


async def test_a_database_of_other_tables_than_are_known_says_so(client: TestClient, home: Home) -> None:
    path = home.put_rows(".hermes/state.db", "chats", [{"id": "one"}])
    result = await client.call("transcripts/list")
    (unread,) = result["unread"]
    assert (result["transcripts"], unread["path"]) == ([], str(path))
    assert unread["reason"].endswith("has none of the tables that Ullage knows of Hermes")
