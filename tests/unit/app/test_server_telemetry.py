"""Spans and metrics of a server, with OpenTelemetry's SDK; none has a text of the transcript."""

from collections.abc import Iterator

import pytest

from support.coding_session import first_turn, thinking_turn
from support.collected_telemetry import Collected, collecting
from support.workspace import LARGE_MODEL, TestClient, build_test_client
from ullage.api.context_methods import SearchParams
from ullage.api.methods import METHODS
from ullage.app.server_telemetry import ServerTelemetry, traced_methods
from ullage.model.errors import NothingToCompact, SessionNotFound

SECRET = "units.py"


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    with collecting(monkeypatch) as found:
        yield found


async def session(client: TestClient) -> str:
    client.workspace.bus.listen(ServerTelemetry(client.workspace))
    new = await client.call("session/new", model=LARGE_MODEL)
    await client.call("session/append", sessionId=new["sessionId"], messages=[*first_turn(), *thinking_turn(1)])
    return new["sessionId"]


async def test_each_request_has_a_span_with_its_method_and_session_and_of_an_error_the_type(
    collected: Collected,
) -> None:
    client = build_test_client()
    session_id = await session(client)
    (search,) = (method for method in traced_methods(METHODS) if method.name == "context/search")
    await search.handler(client.workspace, SearchParams(query=SECRET, session_id=session_id))
    with pytest.raises(SessionNotFound):
        await search.handler(client.workspace, SearchParams(query=SECRET, session_id="s_none"))
    first, failed = collected.spans("ullage.request")
    assert dict(first.attributes) == {
        "gen_ai.conversation.id": session_id,
        "rpc.system": "jsonrpc",
        "rpc.method": "context/search",
    }
    assert failed.attributes["error.type"] == "SessionNotFound"
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
