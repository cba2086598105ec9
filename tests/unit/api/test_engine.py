"""What a connection keeps in memory for a request that runs."""

import asyncio
import tracemalloc
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from support.coding_session import first_turn
from support.workspace import LARGE_MODEL, PATIENCE, TestClient, build_test_client
from ullage.acp.connection import INITIALIZE, AcpConnection
from ullage.app.serving_mcp import ConversationTools
from ullage.mcp.tool_table import TOOLS
from ullage.model.errors import InvalidRequest, SessionNotFound

# Bytes: much more than everything else that a request needs.
LARGE = 4_000_000


class Params(Struct, frozen=True):
    """Params that leave out what the client sends, so that only the request's own bytes could be kept."""


class Collected:
    """A writer that counts the messages."""

    has_room = True

    def __init__(self) -> None:
        self.messages = 0

    def write(self, data: bytes) -> None:
        self.messages += 1

    async def drain(self) -> None:
        pass


def line(request_id: int, method: str, params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


async def test_a_running_request_does_not_keep_the_bytes_that_it_came_in() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def open_connection(_: Any) -> None:
        pass

    async def wait(_: Params) -> None:
        begun.set()
        await may_end.wait()

    connection, written = AcpConnection(), Collected()
    connection.add_route(INITIALIZE, Any, open_connection)
    connection.add_route("wait", Params, wait)
    connection.connect(written)
    connection.feed(line(1, INITIALIZE, {}))
    tracemalloc.start()
    try:
        connection.feed(line(2, "wait", {"text": "x" * LARGE}))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    may_end.set()
    await connection.drain(20)
    assert held < LARGE / 2
    assert written.messages == 2


# The tools of the MCP server, asked by the method `context/lookUp`


async def start() -> tuple[TestClient, str]:
    client = build_test_client()
    client.workspace.looks_up = ConversationTools(client.workspace)
    session = await client.call("session/new", model=LARGE_MODEL)
    await client.call("session/append", sessionId=session["sessionId"], messages=first_turn())
    return client, session["sessionId"]


async def test_every_tool_answers_about_the_named_session_within_4_kilobytes() -> None:
    client, session_id = await start()
    given = {"search": {"query": "units.py"}, "open": {"ref": "#1"}, "context": {}, "lost": {}}
    assert given.keys() == {tool.name for tool in TOOLS}
    for tool, arguments in given.items():
        found = await client.call("context/lookUp", sessionId=session_id, tool=tool, arguments=arguments)
        assert not found["isError"], found
        assert 0 < len(found["text"].encode()) <= 4_096


async def test_wrong_arguments_are_a_result_that_a_model_can_correct() -> None:
    client, session_id = await start()
    found = await client.call("context/lookUp", sessionId=session_id, tool="search", arguments={"words": "units"})
    assert found["isError"]
    assert "`query` (required)" in found["text"]


async def test_an_unknown_tool_or_session_is_refused() -> None:
    client, session_id = await start()
    with pytest.raises(InvalidRequest, match="the tools are ullage_search, ullage_open, ullage_context, ullage_lost"):
        await client.call("context/lookUp", sessionId=session_id, tool="delete")
    with pytest.raises(SessionNotFound):
        await client.call("context/lookUp", sessionId="s_none", tool="context")


async def test_a_server_without_the_tools_says_which_one_has_them() -> None:
    client, session_id = await start()
    client.workspace.looks_up = None
    with pytest.raises(InvalidRequest, match="ullage lsp"):
        await client.call("context/lookUp", sessionId=session_id, tool="context")
