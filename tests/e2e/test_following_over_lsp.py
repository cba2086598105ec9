"""The real server follows an agent's file while it grows, and refuses what can't be done with it."""

import os
from pathlib import Path
from typing import Any

import pytest

from support.followed_home import PROJECT, FollowedHome, changed, stored
from support.log_trees import to_bytes
from support.lsp_client import LspClient, RpcFailure


@pytest.fixture
def home(tmp_path: Path) -> FollowedHome:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    return home


async def test_a_conversation_that_grows_is_sent_at_each_change(home: FollowedHome) -> None:
    async with home.server() as client:
        assert (await client.request("ullage/following/list"))["following"] is False
        assert (await client.request("ullage/following/start", {}))["following"] is True
        row = await changed(client, 40_000)
        assert (row["agent"], row["agentShort"], row["live"]) == ("Claude Code", "CC", True)
        assert (row["path"], row["window"], row["usedSource"]) == (str(home.path), 200_000, "reported")
        home.say("And now?", 90_000)
        later = await changed(client, 90_000)
        assert later["sessionId"] == row["sessionId"]
        usage = await stored(client, row["sessionId"], 90_000)
        assert usage["_meta"]["ullage"]["followed"] == {"agent": "Claude Code", "path": str(home.path)}
        listed = await client.request("ullage/context/messages", {"sessionId": row["sessionId"]})
        assert [entry["message"]["content"][0]["text"] for entry in listed["entries"]][:1] == ["Which port?"]
        assert await client.shutdown() == 0
    assert home.path.read_bytes() == to_bytes(home.lines)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/append", {"messages": [{"role": "user", "content": "Hello?"}]}),
        ("session/prompt", {"prompt": [{"type": "text", "text": "Hello?"}]}),
        ("context/compact", {}),
        ("context/undo", {}),
        ("context/pin", {"messageId": "u0"}),
    ],
)
async def test_a_change_of_a_followed_conversation_is_refused_and_its_fork_can_be_changed(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    async with home.server() as client:
        await client.request("ullage/following/start", {})
        session = {"sessionId": (await changed(client, 40_000))["sessionId"]}
        with pytest.raises(RpcFailure) as refused:
            await client.request(f"ullage/{method}", session | params)
        assert refused.value.data["kind"] == "SessionFollowed"
        remedy = (
            "compact it there, go on in a new session that is written from it, or fork the session and change the fork"
        )
        assert remedy in refused.value.message
        fork = await client.request("ullage/session/fork", session)
        message = {"messages": [{"role": "user", "content": "Hello?"}]}
        await client.request("ullage/session/append", {"sessionId": fork["sessionId"]} | message)
        await client.request("ullage/following/stop")
        usage = await client.request("ullage/context/get", session)
        assert usage["_meta"]["ullage"]["followed"] == {"agent": "Claude Code", "path": str(home.path)}
        with pytest.raises(RpcFailure, match="only reads"):
            await client.request(f"ullage/{method}", session | params)


async def test_a_server_that_was_started_again_knows_whose_conversation_it_is_before_it_follows(tmp_path: Path) -> None:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    async with home.server() as client:
        await client.request("ullage/following/start", {})
        session = {"sessionId": (await changed(client, 40_000))["sessionId"]}
        await stored(client, session["sessionId"], 40_000)
    async with home.server() as client:
        loaded = await client.request("ullage/session/load", session)
        assert loaded["usage"]["_meta"]["ullage"]["followed"] == {"agent": "Claude Code", "path": str(home.path)}
        imported = await client.request("ullage/session/import", {"path": str(home.path)})
        assert (imported["outcome"], imported["session"]["sessionId"]) == ("unchanged", session["sessionId"])
        assert imported["session"]["usage"]["_meta"]["ullage"]["followed"] is not None


async def test_two_servers_show_the_same_and_the_second_continues_if_the_first_stops(home: FollowedHome) -> None:
    async with home.server() as first, home.server() as second:
        await first.request("ullage/following/start", {})
        row = await changed(first, 40_000)
        await second.request("ullage/following/start", {})
        assert (await changed(second, 40_000))["sessionId"] == row["sessionId"]
        home.say("And now?", 90_000)
        for client in (first, second):
            assert (await changed(client, 90_000))["sessionId"] == row["sessionId"]
        await first.request("ullage/following/stop")
        home.say("Still there?", 95_000)
        assert (await changed(second, 95_000))["sessionId"] == row["sessionId"]


async def test_the_newest_conversation_of_a_folder_is_listed_however_old_it_is(home: FollowedHome) -> None:
    os.utime(home.path, (1_700_000_000, 1_700_000_000))
    async with home.server() as client:
        started = await client.request("ullage/following/start", {"folders": [PROJECT]})
        (row,) = started["rows"]
        assert (row["used"], row["live"], row["cwd"]) == (40_000, False, PROJECT)
        assert (await client.request("ullage/following/list"))["rows"] == [row]
        elsewhere = await client.request("ullage/following/start", {"folders": ["/home/user/other"]})
        assert elsewhere["rows"] == [row]


async def test_a_plain_client_follows_agents_by_a_command_and_is_told_when_a_context_fills(home: FollowedHome) -> None:
    async with home.server({}, PROJECT) as client:
        done = await client.request("workspace/executeCommand", {"command": "ullage.follow"})
        assert [row["used"] for row in done["rows"]] == [40_000]
        await told(client, "Following 1 conversation of agents. “Which port?”: Claude Code. Context: 20% (40K/200K")
        home.say("And now?", 190_000)
        await told(client, "“Which port?”: Context 95% full (190K of 200K).")
        await client.request("workspace/executeCommand", {"command": "ullage.context"})
        await told(client, "“Which port?”: Context: 95% (190K/200K")
        await client.request("workspace/executeCommand", {"command": "ullage.unfollow"})
        await told(client, "not followed any more")
        assert (await client.request("ullage/following/list"))["following"] is False
        assert await client.shutdown() == 0


async def test_the_command_that_follows_takes_folders(home: FollowedHome) -> None:
    async with home.server({}) as client:
        command = {"command": "ullage.follow", "arguments": [PROJECT]}
        assert len((await client.request("workspace/executeCommand", command))["rows"]) == 1
        with pytest.raises(RpcFailure, match="argument 1 must be text"):
            await client.request("workspace/executeCommand", {"command": "ullage.follow", "arguments": [5]})


async def told(client: LspClient, text: str) -> None:
    """Waits for a message to the user that has this text."""
    await client.wait_for("window/showMessage", lambda params: text in params["message"])


async def test_a_conversation_whose_file_is_deleted_has_ended_in_every_server(home: FollowedHome) -> None:
    async with home.server() as first, home.server() as second:
        for client in (first, second):
            await client.request("ullage/following/start", {})
            assert (await changed(client, 40_000))["live"] is True
        home.path.unlink()
        for client in (first, second):
            told = await client.wait_for(
                "ullage/following/changed", lambda params: any(not row["live"] for row in params["rows"])
            )
            (row,) = told["rows"]
            assert (row["used"], row["nearness"]) == (40_000, None)
            assert (await client.request("ullage/context/get", {"sessionId": row["sessionId"]}))["used"] == 40_000
