"""Spans and metrics of a server, with OpenTelemetry's SDK; none has a text of the transcript."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from support.coding_session import first_turn, thinking_turn
from support.collected_telemetry import Collected, collecting
from support.proxy_rig import proxy_rig
from support.workspace import LARGE_MODEL, PATIENCE, TestClient, build_test_client
from ullage.api.engine import RequestEngine
from ullage.app.acp_agent import make_agent
from ullage.app.compose import ServerTelemetry
from ullage.app.language_server import make_language_server
from ullage.app.serving_mcp import make_mcp_server
from ullage.app.telemetry import request_span
from ullage.model.errors import NothingToCompact
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions

SECRET = "units.py"
Json = dict[str, Any]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    with collecting(monkeypatch) as found:
        yield found


async def session(client: TestClient) -> str:
    client.workspace.bus.listen(ServerTelemetry(client.workspace))
    new = await client.call("session/new", model=LARGE_MODEL)
    await client.call("session/append", sessionId=new["sessionId"], messages=[*first_turn(), *thinking_turn(1)])
    return new["sessionId"]


class Heard:
    """What a server sends, as text. The client reads all of it at once."""

    has_room = True

    def __init__(self) -> None:
        self.text = ""

    def write(self, data: bytes) -> None:
        self.text += data.decode()

    async def drain(self) -> None:
        """Returns at once."""


def opened_language_server(closing: AsyncExitStack, store: Path) -> RequestEngine:
    return make_language_server(closing, store).connection


def opened_agent(closing: AsyncExitStack, store: Path) -> RequestEngine:
    return make_agent(closing, store, Settings()).connection


def opened_mcp_server(closing: AsyncExitStack, store: Path) -> RequestEngine:
    return make_mcp_server(closing, store, session="s_none").connection


class Door(Struct, frozen=True, kw_only=True):
    """A server, how a client greets it, and a request that names the session `s_none`, which is not there; and the
    error that it ends with, "" where a failure is a result for the model."""

    opened: Callable[[AsyncExitStack, Path], RequestEngine]
    greeting: Json
    method: str
    params: Json
    error: str = "SessionNotFound"
    is_framed: bool = False

    def message(self, number: int, method: str, params: Json) -> bytes:
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if self.is_framed else body + b"\n"


SEARCH = {"query": SECRET, "sessionId": "s_none"}
LANGUAGE_SERVER = Door(
    opened=opened_language_server,
    greeting={"capabilities": {}},
    method="ullage/context/search",
    params=SEARCH,
    is_framed=True,
)
AGENT = Door(
    opened=opened_agent,
    greeting={"protocolVersion": 1, "clientCapabilities": {}},
    method="_ullage/context/search",
    params=SEARCH,
)
MCP_SERVER = Door(
    opened=opened_mcp_server,
    greeting={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}},
    method="tools/call",
    params={"name": "search", "arguments": {"query": SECRET}},
    error="",
)


@pytest.mark.parametrize("door", [LANGUAGE_SERVER, AGENT, MCP_SERVER], ids=["lsp", "acp", "mcp"])
async def test_each_request_of_a_door_has_a_span_with_its_method_and_of_an_error_the_type(
    collected: Collected, tmp_path: Path, door: Door
) -> None:
    async with AsyncExitStack() as closing:
        connection, heard = door.opened(closing, tmp_path / "sessions.db"), Heard()
        connection.connect(heard)
        for number, (method, params) in enumerate((("initialize", door.greeting), (door.method, door.params))):
            connection.feed(door.message(number, method, params))
            async with asyncio.timeout(PATIENCE):
                while f'"id":{number},' not in heard.text:
                    await asyncio.sleep(0.001)
        await connection.drain(PATIENCE)
    # The answer to `initialize` waits for nothing, OpenTelemetry included.
    (span,) = collected.spans("ullage.request")
    assert (span.attributes["rpc.system"], span.attributes["rpc.method"]) == ("jsonrpc", door.method)
    assert span.attributes.get("error.type", "") == door.error
    assert span.attributes.get("gen_ai.conversation.id") == door.params.get("sessionId")
    assert SECRET not in collected.everything()


async def test_the_proxys_own_requests_have_spans_and_those_of_the_agent_have_none(
    collected: Collected, tmp_path: Path
) -> None:
    async with proxy_rig(
        tmp_path, {"usage": True, "window": 8_000}, ProxyOptions(own_methods=True, around=request_span)
    ) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, SECRET)
        await rig.ask("_ullage/context/get", sessionId=session_id)
    (span,) = collected.spans("ullage.request")
    assert span.attributes["rpc.method"] == "_ullage/context/get"
    assert span.attributes["gen_ai.conversation.id"] == session_id
    assert SECRET not in collected.everything()


async def test_a_compaction_has_a_span_with_its_sizes_and_is_counted(collected: Collected) -> None:
    client = build_test_client()
    session_id = await session(client)
    done = await client.call("context/compact", sessionId=session_id)
    (span,) = collected.spans("ullage.compaction")
    assert span.attributes["ullage.context.tokens.before"] == done["contextSizeBefore"]
    assert span.attributes["ullage.context.tokens.after"] == done["contextSizeAfter"]
    assert span.attributes["ullage.compaction.trigger"] == "manual"
    points = collected.points()
    assert points["ullage.compactions"][0].value == 1
    assert points["ullage.context.tokens"][0].count > 1
    with pytest.raises(NothingToCompact):
        await client.call("context/compact", sessionId=session_id)
    assert collected.points()["ullage.compactions"][0].value == 1
    assert SECRET not in collected.everything()
