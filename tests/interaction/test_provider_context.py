"""A provider that manages the context itself: its edits are published, listed and undone like Ullage's own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.coding_session import user
from support.summaries import GOOD, TOLD, by_model
from support.wire.anthropic_context import COMPACTION_USAGE, ManagedAnthropicWire
from support.wire.clients import KEY, settings_of
from support.wire.replies import Call, Reply, say
from support.wire.server import Received, Replier, WireServer, replies
from support.workspace import Live, OneFile, OneProvider, TestClient, build_test_client
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.providers.anthropic_messages import AnthropicProvider, make_client

MODEL = "claude-sonnet-4-6"
CALLS = 8
FILE = "def convert(celsius: float) -> float: ...  # one of many lines that say the same\n" * 40


def reads(received: Received) -> Reply:
    """Calls the tool that reads the file again and again, then ends the turn."""
    made = sum(block["type"] == "tool_use" for m in received.body["messages"] for block in m["content"])
    return say("Done.") if made >= CALLS else Reply(parts=(Call(f"call_{made}", "read_file", '{"path": "units.py"}'),))


@asynccontextmanager
async def meet(
    wire: ManagedAnthropicWire, reply: Replier, window: int
) -> AsyncGenerator[tuple[TestClient, WireServer]]:
    server = WireServer(wire, reply, window=window)
    settings = Settings(
        model=MODEL,
        models={MODEL: ModelSettings(window=window, max_output=2_000)},
        context=ContextSettings(clear_at_least=1_000),
        summary=SummarySettings(prepare_at=0.99),
    )
    async with server.serving(), make_client(settings_of(server), KEY) as client:
        provider = AnthropicProvider("anthropic", client, manages_context=True)
        live = Live(providers=OneProvider(provider), toolbox=OneFile("units.py", FILE))
        yield build_test_client(settings=settings, live=live), server


async def read_all(client: TestClient) -> str:
    session = await client.call("session/new")
    prompt = [{"type": "text", "text": "Read it."}]
    await client.call("session/prompt", sessionId=session["sessionId"], prompt=prompt)
    return session["sessionId"]


async def edits_of(client: TestClient, session_id: str) -> list[Any]:
    return (await client.call("context/history", sessionId=session_id))["edits"]


async def test_what_the_provider_clears_is_an_edit_of_the_session() -> None:
    wire = ManagedAnthropicWire()
    async with meet(wire, reads, window=12_000) as (client, server):
        session_id = await read_all(client)
        edits = await edits_of(client, session_id)
        cleared = [edit for edit in edits if edit["kind"] == "clear_tool_uses"]
        assert cleared
        assert {edit["kind"] for edit in edits} == {"clear_tool_uses"}
        asked = server.asked[-1]
        assert asked.headers["anthropic-beta"] == "context-management-2025-06-27"
        results = [b["content"][0]["text"] for m in asked.body["messages"] for b in m["content"] if "tool_use_id" in b]
        assert sum(text.startswith("[Old read_file result cleared") for text in results) >= CALLS - 4
        assert not any(received.over_window or received.violations for received in server.asked)
        notices = [u for u in client.recorder.take() if u["sessionUpdate"] == "notice"]
        assert [notice["_meta"]["ullage"]["editId"] for notice in notices] == [edit["id"] for edit in cleared]


async def test_the_figures_stay_those_of_the_provider() -> None:
    wire = ManagedAnthropicWire()
    async with meet(wire, reads, window=12_000) as (client, server):
        session_id = await read_all(client)
        reading = client.workspace.open(session_id).projection.tracker.reading
        assert reading.source == "reported"
        assert abs(reading.used - server.asked[-1].tokens) < 0.02 * reading.used


async def test_an_undo_brings_back_what_the_provider_cleared() -> None:
    async with meet(ManagedAnthropicWire(), reads, window=12_000) as (client, _):
        session_id = await read_all(client)
        before = client.workspace.open(session_id).used
        await client.call("context/undo", sessionId=session_id)
        session = client.workspace.open(session_id)
        assert session.used > before + 1_000


async def test_what_may_not_be_cleared_is_said_to_the_provider() -> None:
    async with meet(ManagedAnthropicWire(), reads, window=12_000) as (client, server):
        await read_all(client)
        (edit,) = server.asked[0].body["context_management"]["edits"]
        assert edit["exclude_tools"] == ["memory", "recall"]
        assert edit["keep"] == {"type": "tool_uses", "value": 3}


async def long_session(client: TestClient) -> str:
    """Makes a session of about 60,000 tokens."""
    session = await client.call("session/new")
    for number in range(6):
        await client.say(
            session["sessionId"], f"Question {number}. " + "Say what is wrong. " * 1_900, f"Nothing {number}."
        )
    client.recorder.take()
    return session["sessionId"]


@pytest.mark.parametrize("last", ["prompt", "answer"])
async def test_the_providers_compaction_is_a_compaction_of_ours(last: str) -> None:
    wire = ManagedAnthropicWire()
    async with meet(wire, lambda _: say(GOOD), window=100_000) as (client, server):
        session_id = await long_session(client)
        if last == "prompt":
            await client.call("session/append", sessionId=session_id, messages=[user("Go on.")])
        await client.call("context/compact", sessionId=session_id)
        (asked,) = server.asked
        (edit,) = asked.body["context_management"]["edits"]
        assert (edit["type"], edit["pause_after_compaction"]) == ("compact_20260112", True)
        assert "## Next step" in edit["instructions"]
        assert asked.body["messages"][-1]["role"] == "user"
        statuses = [u["status"] for u in client.recorder.take() if u["sessionUpdate"] == "compaction_update"]
        assert statuses == ["in_progress", "completed"]
        made = (await edits_of(client, session_id))[-1]
        (marker,) = [e["message"]["content"][0] for e in await client.entries(session_id) if e["inserted"]]
        assert (by_model(marker["summary"]), marker["summarizer"]) == (TOLD, MODEL)
        totals = client.workspace.open(session_id).projection.tracker.totals
        assert totals.cache_read_input_tokens >= COMPACTION_USAGE["cache_read_input_tokens"]
        await client.call("context/undo", sessionId=session_id, editId=made["id"])
        assert not any(entry["inserted"] for entry in await client.entries(session_id))


async def test_a_model_that_cannot_compact_is_asked_for_a_summary() -> None:
    async with meet(ManagedAnthropicWire(compacts=False), lambda _: say(GOOD), window=100_000) as (client, server):
        session_id = await long_session(client)
        await client.call("context/compact", sessionId=session_id)
        assert ["context_management" in received.body for received in server.asked] == [True, False]
        (marker,) = [e["message"]["content"][0] for e in await client.entries(session_id) if e["inserted"]]
        assert marker["summarizer"] == MODEL


async def test_a_compaction_that_came_to_nothing_is_asked_for_as_a_summary() -> None:
    def reply(received: Received) -> Reply:
        return Reply(parts=()) if "context_management" in received.body else say(GOOD)

    async with meet(ManagedAnthropicWire(), reply, window=100_000) as (client, server):
        session_id = await long_session(client)
        await client.call("context/compact", sessionId=session_id)
        assert len(server.asked) == 2


async def test_a_summary_leaves_the_choice_of_tools_as_it_was_until_the_cache_is_lost_anyway() -> None:
    async with meet(ManagedAnthropicWire(), replies(say("Hm."), say(GOOD)), window=100_000) as (client, server):
        session = await client.call("session/new", tools=[{"name": "look", "description": "Looks."}])
        for number in range(6):
            await client.say(session["sessionId"], f"Question {number}. " * 60, f"Nothing {number}. " * 60)
        await client.call("context/compact", sessionId=session["sessionId"])
        assert ["tool_choice" in received.body for received in server.asked] == [False, True]
        assert all(received.body["tools"] for received in server.asked)


async def test_a_short_conversation_is_summarised_as_ever() -> None:
    async with meet(ManagedAnthropicWire(), lambda _: say(GOOD), window=100_000) as (client, server):
        session = await client.call("session/new")
        for number in range(6):
            await client.say(session["sessionId"], f"Question {number}. " * 60, f"Nothing {number}. " * 60)
        await client.call("context/compact", sessionId=session["sessionId"])
        assert ["context_management" in received.body for received in server.asked] == [False]
