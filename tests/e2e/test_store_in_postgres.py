"""Sessions in PostgreSQL at every door: the command line, the Language Server and the files that it follows, ACP, the
proxy and MCP."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support import started_program
from support.agents.launch import Launch
from support.agents.program import ProgramEnd, program
from support.command_line import SAMPLE, ullage
from support.followed_home import SESSION, FollowedHome, changed, stored
from support.lsp_client import ROOT, RpcFailure, start_server
from support.mcp_client import NEEDLE, mcp_client, shown, talk
from support.postgres_server import PostgresServer, needs_postgres
from support.program import OUR_CLIENT
from support.proxy_rig import TOY
from support.systems import needs_linux
from ullage.store import open_store

pytestmark = needs_postgres


def home_of(folder: Path) -> dict[str, str]:
    """Returns the environment of a user with this home, and no store chosen."""
    return {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "ULLAGE_STORE": "",
    }


def stores_in(folder: Path) -> list[str]:
    """Returns the names of the stores' files in a home."""
    return [path.name for path in folder.rglob("*") if path.name in ("sessions.db", "sessions.db-wal")]


def test_the_command_line_keeps_sessions_where_the_environment_says(tmp_path: Path, postgres_address: str) -> None:
    env = home_of(tmp_path) | {"ULLAGE_STORE": postgres_address}
    imported = ullage("import", SAMPLE, "--json", env=env).json
    (listed,) = ullage("--stored", "--json", "--store", postgres_address, env=home_of(tmp_path)).json["sessions"]
    assert listed["session_id"] == imported["session_id"]
    (store,) = [check for check in ullage("doctor", "--json", env=env).json["checks"] if check["what"] == "store"]
    assert "reached, version 1" in store["found"]
    assert "1 conversation" in store["found"]
    assert stores_in(tmp_path) == []


@pytest.mark.parametrize("by", ["environment", "setting"])
async def test_a_server_of_an_editor_keeps_sessions_in_postgresql(
    tmp_path: Path, postgres_address: str, by: str
) -> None:
    env, options = home_of(tmp_path), dict[str, Any]()
    if by == "environment":
        env["ULLAGE_STORE"] = postgres_address
    else:
        options = {"settings": {"ullage": {"store": postgres_address}}}
    session_id = await made_session(env, options)
    (listed,) = ullage("--stored", "--json", "--store", postgres_address, env=home_of(tmp_path)).json["sessions"]
    assert (listed["session_id"], listed["messages"]) == (session_id, 1)
    assert stores_in(tmp_path) == []


async def made_session(env: Mapping[str, str], options: dict[str, Any]) -> str:
    async with start_server(started_program.stand_in("lsp"), dict(env)) as client:
        await client.initialize(OUR_CLIENT, options=options)
        made = await client.request("ullage/session/new", {"model": "gpt-5", "cwd": "/project"})
        message = {"role": "user", "content": "Plant the walnut tree."}
        await client.request("ullage/session/append", {"sessionId": made["sessionId"], "messages": [message]})
        assert await client.shutdown() == 0
    return made["sessionId"]


async def test_a_server_without_its_postgresql_says_so_at_each_request_and_uses_no_other_store(tmp_path: Path) -> None:
    address = f"postgresql:///ullage?host={tmp_path}"
    async with start_server(started_program.stand_in("lsp"), home_of(tmp_path) | {"ULLAGE_STORE": address}) as client:
        await client.initialize(OUR_CLIENT)
        for _ in range(2):
            with pytest.raises(RpcFailure, match="PostgreSQL at this machine/ullage can't be reached") as refused:
                await client.request("ullage/session/list", {})
            assert refused.value.data["kind"] == "StoreUnavailable"
        assert await client.shutdown() == 0
    assert stores_in(tmp_path) == []


def acp_door(folder: Path, address: str, *arguments: str) -> Launch:
    """Returns `ullage acp` on this store, for a user with this home."""
    command = (sys.executable, "-m", "ullage", "acp", "--store", address, *arguments)
    environment = {"PYTHONPATH": str(ROOT / "server"), "PATH": os.environ["PATH"], **home_of(folder)}
    return Launch(title="", command=command, environment=environment, cwd=folder)


@asynccontextmanager
async def opened(door: Launch) -> AsyncGenerator[tuple[ProgramEnd, str]]:
    """Starts a door and opens a session."""
    async with program(door.command, door, door.cwd / "errors") as end:
        await end.ask("initialize", protocolVersion=1, clientCapabilities={})
        yield end, (await end.ask("session/new", cwd=str(door.cwd), mcpServers=[]))["sessionId"]


@needs_linux
async def test_sessions_of_an_acp_client_are_kept_replayed_and_deleted_in_postgresql(
    tmp_path: Path, postgres_address: str
) -> None:
    (tmp_path / "script.txt").write_text("say: Planted.")
    provider = {"kind": "scripted", "file": str(tmp_path / "script.txt"), "models": ["gpt-4o"]}
    settings = json.dumps({"model": "gpt-4o", "providers": {"script": provider}})
    door = acp_door(tmp_path, postgres_address, "--settings", settings)
    async with opened(door) as (end, session_id):
        assert await end.prompt(session_id, "Plant the walnut tree.") == "Planted."
        found = await end.ask("_ullage/context/search", sessionId=session_id, query="walnut")
        assert len(found["hits"]) == 1
    async with opened(door) as (end, other):
        listed = (await end.ask("session/list"))["sessions"]
        assert {each["sessionId"] for each in listed} >= {session_id}
        await end.ask("session/load", sessionId=session_id, cwd=str(tmp_path), mcpServers=[])
        assert [chunk["content"]["text"] for chunk in end.updates("agent_message_chunk")] == ["Planted."]
        await end.ask("session/delete", sessionId=session_id)
        assert session_id not in {each["sessionId"] for each in (await end.ask("session/list"))["sessions"]}
        assert other != session_id
    assert stores_in(tmp_path) == []


@needs_linux
async def test_the_proxy_records_in_postgresql_and_its_own_methods_read_there(
    tmp_path: Path, postgres_address: str
) -> None:
    toy = (sys.executable, str(TOY), json.dumps({"usage": True, "window": 8_000}))
    async with opened(acp_door(tmp_path, postgres_address, "--", *toy)) as (end, session_id):
        await end.prompt(session_id, "Plant the walnut tree.")
        found = await end.ask("_ullage/context/search", sessionId=session_id, query="walnut")
        assert len(found["hits"]) >= 1
    (listed,) = ullage("--stored", "--json", "--store", postgres_address, env=home_of(tmp_path)).json["sessions"]
    assert listed["session_id"] == session_id
    assert stores_in(tmp_path) == []


async def test_an_mcp_server_finds_in_postgresql_what_a_compaction_took(tmp_path: Path, postgres_address: str) -> None:
    talk(tmp_path, tmp_path)
    async with mcp_client(tmp_path, tmp_path, "--store", postgres_address) as client:
        found, failed = await client.call("search", query="retry limit")
    assert not failed
    assert NEEDLE in shown(found)
    assert stores_in(tmp_path) == []


async def test_an_agents_conversation_is_followed_into_postgresql(tmp_path: Path, postgres_address: str) -> None:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    assert ullage("keep", "on", "--store", postgres_address, env=home_of(tmp_path)).status == 0
    async with start_server(
        started_program.stand_in("lsp"), home_of(tmp_path) | {"ULLAGE_STORE": postgres_address}
    ) as client:
        await client.initialize(OUR_CLIENT)
        await client.request("ullage/following/start", {})
        row = await changed(client, 40_000)
        home.say("And now?", 90_000)
        await changed(client, 90_000)
        await stored(client, row["sessionId"], 90_000)
        assert await client.shutdown() == 0
    (listed,) = ullage("--stored", "--json", "--store", postgres_address, env=home_of(tmp_path)).json["sessions"]
    assert (listed["session_id"], listed["agent_session_id"], listed["used"]) == (row["sessionId"], SESSION, 90_000)
    kept = ullage("keep", "--json", "--store", postgres_address, env=home_of(tmp_path)).json
    assert sum(agent["files"] for agent in kept["agents"]) == 1
    assert stores_in(tmp_path) == []


def test_a_server_that_is_another_programs_is_left_alone(tmp_path: Path, postgres_server: PostgresServer) -> None:
    wrong = ullage(
        "sessions", "--store", postgres_server.address().replace("/postgres?", "/nowhere?"), env=home_of(tmp_path)
    )
    assert wrong.status == 2
    assert "PostgreSQL at this machine/nowhere can't be reached" in wrong.err
    assert stores_in(tmp_path) == []


def test_sessions_are_copied_into_postgresql_and_back_by_the_program(tmp_path: Path, postgres_address: str) -> None:
    env, local, back = home_of(tmp_path), tmp_path / "local.db", tmp_path / "back.db"
    session_id = ullage("import", SAMPLE, "--json", "--store", local, env=env).json["session_id"]
    there = ullage("store", "copy", local, postgres_address, "--json", env=env)
    assert (there.status, there.json["new"]) == (0, [session_id])
    returned = ullage("store", "copy", postgres_address, back, "--json", env=env).json
    assert returned["sha256"] == there.json["sha256"]
    logs = {
        ullage("export", "--events", session_id, "--json", "--store", place, env=env).out for place in (local, back)
    }
    assert len(logs) == 1
    again = ullage("store", "copy", local, postgres_address, env=env)
    assert again.out.startswith("0 records copied")


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("missing.db", "new.db", "there is no store at"),
        ("one.db", "./one.db", "both are the same store"),
        ("one.db", "postgresql://ada:hunter2@db/ullage", "PGPASSWORD"),
    ],
)
def test_a_copy_that_can_not_be_made_is_refused_in_words(tmp_path: Path, source: str, target: str, words: str) -> None:
    with open_store(tmp_path / "one.db"):
        pass
    place = target if "://" in target else str(tmp_path / target)
    refused = ullage("store", "copy", tmp_path / source, place, env=home_of(tmp_path))
    assert refused.status == 2
    assert words in refused.err
    assert "hunter2" not in refused.err
