"""The proxy offers the agent Ullage's MCP server with each session, once, and named where the session is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.proxy_rig import running
from support.puppet_agent import puppet
from support.systems import needs_unix_sockets
from ullage.proxy.connection import ProxyOptions

pytestmark = needs_unix_sockets
SERVER = {"name": "ullage", "command": "/bin/ullage", "args": ["mcp", "--store", "/s.db"], "env": []}
OFFERS = ProxyOptions(server=SERVER)
OTHER = {"name": "other", "command": "/bin/other", "args": ["1e3"], "env": [{"name": "N", "value": "1"}]}


def named(session_id: str) -> dict[str, Any]:
    return {**SERVER, "args": [*SERVER["args"], "--session", session_id]}


async def test_a_new_session_gets_the_server_behind_those_of_the_client(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        for offered in ([], [OTHER]):
            asked = client.start("session/new", cwd="/work", mcpServers=offered, _meta={"kept": 1.50})
            request = await agent.gets("session/new")
            assert request["params"] == {"cwd": "/work", "mcpServers": [*offered, SERVER], "_meta": {"kept": 1.5}}
            agent.answers(request, sessionId=f"s{len(offered)}")
            await client.answer(asked)


async def test_a_former_session_gets_the_server_with_its_id(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        for method in ("session/load", "session/resume"):
            # The servers of `session/resume` may be absent.
            more: dict[str, Any] = {"mcpServers": []} if method == "session/load" else {}
            asked = client.start(method, sessionId="old", cwd="/work", **more)
            request = await agent.gets(method)
            assert request["params"]["mcpServers"] == [named("old")]
            agent.answers(request)
            await client.answer(asked)


@pytest.mark.parametrize(("told", "takes"), [({"stdio": {}}, True), ({"http": {}}, False), ({}, False)])
async def test_an_agent_of_version_2_gets_the_server_if_it_says_that_it_takes_such_servers(
    tmp_path: Path, told: dict[str, Any], *, takes: bool
) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        client.version = agent.version = 2
        agent.abilities = {"prompt": {}, "mcp": told}
        greeting = client.start("initialize", protocolVersion=2, info={"name": "c", "version": "1"})
        client.start("_test/early")
        await agent.gets("_test/early")
        await client.answer(greeting)
        client.start("session/new", cwd="/work", mcpServers=[])
        request = await agent.gets("session/new")
        assert request["params"]["mcpServers"] == ([{"type": "stdio", **SERVER}] if takes else [])


OURS: tuple[dict[str, Any], ...] = (
    {"name": "ullage", "command": "/elsewhere/ullage", "args": ["mcp"], "env": []},
    {"name": "history", "command": "/home/me/.local/bin/ullage", "args": ["mcp", "--session", "x"], "env": []},
    {"name": "history", "command": "C:\\bin\\ullage.exe", "args": ["mcp"], "env": []},
    {"name": "history", "command": "python3", "args": ["-m", "ullage", "mcp"], "env": []},
    {"type": "http", "name": "ullage", "url": "http://localhost", "headers": []},
)


@pytest.mark.parametrize("ours", OURS)
async def test_a_client_that_offers_it_itself_gets_no_second_one(tmp_path: Path, ours: dict[str, Any]) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        client.start("session/new", cwd="/work", mcpServers=[OTHER, ours])
        assert (await agent.gets("session/new"))["params"]["mcpServers"] == [OTHER, ours]


@pytest.mark.parametrize("given", [None, "none", {"ullage": {}}, 5])
async def test_servers_of_another_shape_are_forwarded_as_they_are(tmp_path: Path, given: Any) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        client.start("session/new", cwd="/work", mcpServers=given)
        assert (await agent.gets("session/new"))["params"]["mcpServers"] == given


async def test_switched_off_every_request_keeps_its_bytes(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        client.start("session/new", cwd="/work", mcpServers=[OTHER])
        assert (await agent.gets("session/new"))["params"]["mcpServers"] == [OTHER]


async def test_the_session_after_a_handover_gets_the_server_with_the_id_of_the_whole_conversation(
    tmp_path: Path,
) -> None:
    options = ProxyOptions(server=SERVER, hand_over=True)
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, options) as client:
        asked = client.start("session/new", cwd="/work", mcpServers=[OTHER])
        agent.answers(await agent.gets("session/new"), sessionId="s")
        await client.answer(asked)
        turn = client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "Hello"}])
        agent.answers(await agent.gets("session/prompt"), stopReason="end_turn")
        await client.answer(turn)
        held = client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "/compact"}])
        summary = await agent.gets("session/prompt")
        agent.says("s", "All is well.")
        agent.answers(summary, stopReason="end_turn")
        fresh = await agent.gets("session/new")
        assert fresh["params"]["mcpServers"] == [OTHER, named("s")]
        agent.answers(fresh, sessionId="fresh")
        assert (await client.answer(held))["stopReason"] == "end_turn"


async def test_the_entries_of_the_client_keep_their_bytes(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path, OFFERS) as client:
        entry = '{"name":"other" , "command":"/bin/other","args":[],"env":[],"big":123456789012345678901234567890}'
        client.send_line(
            b'{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/w","mcpServers":[%s]}}\n'
            % entry.encode()
        )
        (other, ours) = (await agent.gets("session/new"))["params"]["mcpServers"]
        assert (other, ours) == (json.loads(entry), SERVER)
