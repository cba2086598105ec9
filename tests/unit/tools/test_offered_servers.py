"""MCP servers that a client offers, played by a small one of the official SDK over both transports."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import PATIENCE
from support.ready_servers import command_of
from ullage.model.updates import ToolKind
from ullage.tools.offered_servers import HttpServer, Server, StdioServer, name_for_model
from ullage.tools.server_link import Patience
from ullage.tools.session_servers import SessionServers

SMALL = Path(__file__).parents[2] / "support" / "small_mcp_server.py"
# Nothing that works takes longer on a busy machine.
LONG = Patience(start=PATIENCE, call=PATIENCE, end=PATIENCE)


def small(**env: str) -> StdioServer:
    command, arguments = command_of("small_mcp_server")
    return StdioServer(name="small", command=command, args=tuple(arguments), env=env)


@pytest.fixture
def http_server() -> Iterator[HttpServer]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, str(SMALL), "http", str(port)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Uvicorn running" in line:
                break
        yield HttpServer(name="small", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"})
        process.kill()


@asynccontextmanager
async def started(*servers: Server, patience: Patience = LONG) -> AsyncGenerator[SessionServers]:
    session = SessionServers(servers, "", patience)
    try:
        yield session
    finally:
        await asyncio.wait_for(session.close(), PATIENCE)


async def is_written(path: Path, text: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not path.exists() or path.read_text() != text:
            await asyncio.sleep(0.01)


async def check_use(session: SessionServers) -> None:
    assert await session.prepare() == ()
    offered = {tool.name: tool for tool in session.definitions}
    assert offered["mcp__small__add"].description == "Adds two numbers."
    assert offered["mcp__small__add"].input_schema["required"] == ["a", "b"]
    outcome = await session.run("mcp__small__add", {"a": 2, "b": 3})
    assert (outcome.text, outcome.is_error) == ("The sum is 5.", False)
    failed = await session.run("mcp__small__fail", {})
    assert failed.is_error
    assert "the disk is full" in failed.text


async def test_the_tools_of_a_program_are_offered_and_called() -> None:
    async with started(small()) as session:
        await check_use(session)


async def test_the_tools_of_a_server_on_the_network_are_offered_and_called(http_server: HttpServer) -> None:
    async with started(http_server) as session:
        await check_use(session)


async def test_two_servers_of_one_name_have_tools_of_different_names() -> None:
    async with started(small(), small()) as session:
        assert await session.prepare() == ()
        names = [tool.name for tool in session.definitions]
        assert len(names) == len(set(names)) == 14


async def test_a_program_gets_the_clients_variables_and_no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    async with started(small(TOKEN="given")) as session:
        await session.prepare()
        assert (await session.run("mcp__small__variable", {"name": "TOKEN"})).text == "given"
        assert (await session.run("mcp__small__variable", {"name": "ANTHROPIC_API_KEY"})).text == "unset"
        assert (await session.run("mcp__small__variable", {"name": "PATH"})).text == os.environ["PATH"]


async def test_a_picture_is_part_of_the_result() -> None:
    async with started(small()) as session:
        await session.prepare()
        outcome = await session.run("mcp__small__picture", {})
        assert [image.media_type for image in outcome.images] == ["image/png"]


async def test_every_tool_is_asked_for_and_one_that_only_reads_is_shown_as_such() -> None:
    async with started(small()) as session:
        await session.prepare()
        for name in ("mcp__small__add", "mcp__small__note"):
            assert session.question(name) is not None
        about = session.describe("mcp__small__add")
        assert (about.title, about.kind) == ("small: add", ToolKind.READ)
        assert session.describe("mcp__small__note").kind is ToolKind.OTHER
        assert (session.only_reads("mcp__small__add"), session.only_reads("mcp__small__note")) == (True, False)


async def test_a_server_that_dies_is_an_error_of_its_call_and_runs_again_for_the_next_prompt() -> None:
    async with started(small()) as session:
        await session.prepare()
        died = await asyncio.wait_for(session.run("mcp__small__die", {}), PATIENCE)
        assert died.is_error
        assert "The MCP server small has ended" in died.text
        assert (await session.run("mcp__small__add", {"a": 1, "b": 1})).is_error
        assert await session.prepare() == ("The MCP server small had ended and was started again.",)
        assert await session.prepare() == ()
        assert (await session.run("mcp__small__add", {"a": 1, "b": 1})).text == "The sum is 2."


async def test_a_call_that_hangs_is_given_up(tmp_path: Path) -> None:
    async with started(small(), patience=Patience(start=PATIENCE, call=1.0, end=PATIENCE)) as session:
        await session.prepare()
        hung = await asyncio.wait_for(session.run("mcp__small__wait", {"path": str(tmp_path / "state")}), PATIENCE)
        assert "did not answer within 1 s" in hung.text


async def test_a_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with started(small()) as session:
        await session.prepare()
        call = asyncio.create_task(session.run("mcp__small__wait", {"path": str(state)}))
        await is_written(state, "begun")
        call.cancel()
        await asyncio.wait([call], timeout=PATIENCE)
        assert call.cancelled()
        await is_written(state, "cancelled")
        assert not (await session.run("mcp__small__add", {"a": 1, "b": 1})).is_error


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (StdioServer(name="none", command="/no/such/program"), "/no/such/program"),
        (StdioServer(name="none", command=sys.executable, args=("-c", "pass")), "closed"),
        (HttpServer(name="none", url="http://127.0.0.1:9/mcp"), ""),
        (HttpServer(name="none", url="no address"), ""),
    ],
)
async def test_a_server_that_does_not_start_is_reported_once_and_the_others_are_used(
    server: Server, reason: str
) -> None:
    async with started(server, small()) as session:
        (fault,) = await asyncio.wait_for(session.prepare(), PATIENCE)
        assert fault.startswith("The MCP server none is not used: ")
        assert reason in fault
        assert await session.prepare() == ()
        assert len(session.definitions) == 7


async def test_a_server_that_says_nothing_is_given_up() -> None:
    silent = StdioServer(name="silent", command=sys.executable, args=("-c", "import sys; sys.stdin.read()"))
    async with started(silent, patience=Patience(start=1.0, end=PATIENCE)) as session:
        (fault,) = await asyncio.wait_for(session.prepare(), PATIENCE)
        assert fault == "The MCP server silent is not used: it did not start within 1 s."


async def test_without_the_extra_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.tools.session_servers.is_usable", lambda: False)
    async with started(small(), small()) as session:
        (fault,) = await session.prepare()
        assert fault.endswith(
            "These MCP servers are not used: small, small. That needs the Python package mcp; run "
            f"`{sys.executable} -m pip install 'httpx2>=2' 'mcp<3,>=2'`."
        )
        assert await session.prepare() == ()


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("files", "read_file", "mcp__files__read_file"),
        ("my files", "read/file", "mcp__my_files__read_file"),
    ],
)
def test_names_are_legal_everywhere(server: str, tool: str, name: str) -> None:
    assert name_for_model(server, tool, ()) == name
    long: Any = {name_for_model(server, tool * n, ()) for n in range(20, 30)}
    assert len(long) == 10
    assert all(len(each) <= 64 for each in long)
    assert name_for_model(server, tool, {name}) != name
