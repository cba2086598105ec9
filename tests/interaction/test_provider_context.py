"""A provider that manages or compacts the context itself: its edits are published, listed and undone like Ullage's own,
and it gets its own sealed compactions back."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.coding_session import user
from support.summaries import GOOD, TOLD, by_model
from support.wire.anthropic_context import COMPACTION_USAGE, ManagedAnthropicWire
from support.wire.clients import KEY, settings_of
from support.wire.replies import Call, Reply, say
from support.wire.responses_wire import SEALED, CompactingResponsesWire, sealed_items
from support.wire.server import Received, Replier, WireServer, replies
from support.workspace import Live, OneFile, OneProvider, TestClient, build_test_client
from ullage.formats.provider import write_anthropic
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.providers.anthropic_messages import AnthropicProvider
from ullage.providers.anthropic_messages import make_client as make_anthropic_client
from ullage.providers.openai_apis import OpenAIResponsesProvider, make_client

MODEL = "gpt-4o-8k"


@asynccontextmanager
async def meet(wire: CompactingResponsesWire) -> AsyncGenerator[tuple[TestClient, WireServer]]:
    server = WireServer(wire, replies(say(GOOD)))
    async with server.serving(), make_client(settings_of(server), KEY) as client:
        provider = OpenAIResponsesProvider("openai", client, manages_context=True)
        settings = Settings(summary=SummarySettings(prepare_at=0.99))
        yield build_test_client(settings=settings, live=Live(providers=OneProvider(provider))), server


async def compacted(client: TestClient) -> tuple[str, Any]:
    """Returns a session that was compacted by hand, and its marker."""
    session = await client.call("session/new", model=MODEL, system="Be brief.")
    for number in range(6):
        words = f"The parser reads one token too many at line {number}. " * 30
        await client.say(session["sessionId"], f"Question {number}?", words)
    await client.call("context/compact", sessionId=session["sessionId"])
    entries = await client.entries(session["sessionId"])
    (marker,) = [entry["message"]["content"][0] for entry in entries if entry["inserted"]]
    return session["sessionId"], marker


async def ask(client: TestClient, session_id: str) -> None:
    await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Go on."}])


async def test_the_provider_gets_its_own_compaction_back_and_the_user_sees_the_offline_one() -> None:
    wire = CompactingResponsesWire()
    async with meet(wire) as (client, server):
        session_id, marker = await compacted(client)
        assert marker["sealed"] == {"provider": "openai", "data": f"{SEALED}1", "tokens": 200}
        assert "## What the user said" in marker["summary"]
        await ask(client, session_id)
        asked = server.asked[-1]
        assert sealed_items(asked.body) == [f"{SEALED}1"]
        assert (asked.violations, asked.body["instructions"]) == ([], "Be brief.")
        assert "record of them, not instructions" not in str(asked.body)


async def test_another_provider_gets_the_summary() -> None:
    async with meet(CompactingResponsesWire()) as (client, _):
        session_id, marker = await compacted(client)
        written = write_anthropic(client.workspace.open(session_id).transcript.view)
        assert SEALED not in str(written.messages)
        assert marker["summary"].splitlines()[1] in str(written.messages)


async def test_a_later_compaction_is_made_of_the_earlier_one() -> None:
    wire = CompactingResponsesWire()
    async with meet(wire) as (client, _):
        session_id, _ = await compacted(client)
        for number in range(6):
            await client.say(session_id, f"More {number}?", f"Nothing new at line {number}. " * 40)
        await client.call("context/compact", sessionId=session_id)
        assert [sealed_items(body) for body in wire.compacted] == [[], [f"{SEALED}1"]]


async def test_undo_brings_the_messages_back_to_the_provider() -> None:
    async with meet(CompactingResponsesWire()) as (client, server):
        session_id, _ = await compacted(client)
        await client.call("context/undo", sessionId=session_id)
        await ask(client, session_id)
        assert sealed_items(server.asked[-1].body) == []
        assert "Question 0?" in str(server.asked[-1].body)


async def test_the_provider_gets_the_summary_that_the_user_wrote() -> None:
    async with meet(CompactingResponsesWire()) as (client, server):
        session_id, _ = await compacted(client)
        await client.call("context/undo", sessionId=session_id)
        preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
        await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"], summary="Mine alone.")
        await ask(client, session_id)
        assert sealed_items(server.asked[-1].body) == []
        assert "Mine alone." in str(server.asked[-1].body)


@pytest.mark.parametrize("wire", [CompactingResponsesWire(compacts=False), CompactingResponsesWire(tokens=90_000)])
async def test_a_provider_that_cannot_or_makes_it_too_large_is_asked_for_a_summary(
    wire: CompactingResponsesWire,
) -> None:
    async with meet(wire) as (client, _):
        _, marker = await compacted(client)
        assert "sealed" not in marker
        assert "Mend the parser." in marker["summary"]


async def test_what_it_costs_is_counted() -> None:
    async with meet(CompactingResponsesWire()) as (client, _):
        session_id, _ = await compacted(client)
        assert client.workspace.open(session_id).projection.tracker.totals.output_tokens == 200


CLAUDE = "claude-sonnet-4-6"
CALLS = 8
FILE = "def convert(celsius: float) -> float: ...  # one of many lines that say the same\n" * 40


def reads(received: Received) -> Reply:
    """Calls the tool that reads the file again and again, then ends the turn."""
    made = sum(block["type"] == "tool_use" for m in received.body["messages"] for block in m["content"])
    return say("Done.") if made >= CALLS else Reply(parts=(Call(f"call_{made}", "read_file", '{"path": "units.py"}'),))


@asynccontextmanager
async def meet_managing(
    wire: ManagedAnthropicWire, reply: Replier, window: int
) -> AsyncGenerator[tuple[TestClient, WireServer]]:
    server = WireServer(wire, reply, window=window)
    settings = Settings(
        model=CLAUDE,
        models={CLAUDE: ModelSettings(window=window, max_output=2_000)},
        context=ContextSettings(clear_at_least=1_000),
        summary=SummarySettings(prepare_at=0.99),
    )
    async with server.serving(), make_anthropic_client(settings_of(server), KEY) as client:
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
    async with meet_managing(wire, reads, window=12_000) as (client, server):
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
    async with meet_managing(wire, reads, window=12_000) as (client, server):
        session_id = await read_all(client)
        reading = client.workspace.open(session_id).projection.tracker.reading
        assert reading.source == "reported"
        assert abs(reading.used - server.asked[-1].tokens) < 0.02 * reading.used


async def test_an_undo_brings_back_what_the_provider_cleared() -> None:
    async with meet_managing(ManagedAnthropicWire(), reads, window=12_000) as (client, _):
        session_id = await read_all(client)
        before = client.workspace.open(session_id).used
        await client.call("context/undo", sessionId=session_id)
        session = client.workspace.open(session_id)
        assert session.used > before + 1_000


async def test_what_may_not_be_cleared_is_said_to_the_provider() -> None:
    async with meet_managing(ManagedAnthropicWire(), reads, window=12_000) as (client, server):
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
    async with meet_managing(wire, lambda _: say(GOOD), window=100_000) as (client, server):
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
        assert (by_model(marker["summary"]), marker["summarizer"]) == (TOLD, CLAUDE)
        totals = client.workspace.open(session_id).projection.tracker.totals
        assert totals.cache_read_input_tokens >= COMPACTION_USAGE["cache_read_input_tokens"]
        await client.call("context/undo", sessionId=session_id, editId=made["id"])
        assert not any(entry["inserted"] for entry in await client.entries(session_id))


async def test_a_model_that_cannot_compact_is_asked_for_a_summary() -> None:
    async with meet_managing(ManagedAnthropicWire(compacts=False), lambda _: say(GOOD), window=100_000) as (
        client,
        server,
    ):
        session_id = await long_session(client)
        await client.call("context/compact", sessionId=session_id)
        assert ["context_management" in received.body for received in server.asked] == [True, False]
        (marker,) = [e["message"]["content"][0] for e in await client.entries(session_id) if e["inserted"]]
        assert marker["summarizer"] == CLAUDE


async def test_a_compaction_that_came_to_nothing_is_asked_for_as_a_summary() -> None:
    def reply(received: Received) -> Reply:
        return Reply(parts=()) if "context_management" in received.body else say(GOOD)

    async with meet_managing(ManagedAnthropicWire(), reply, window=100_000) as (client, server):
        session_id = await long_session(client)
        await client.call("context/compact", sessionId=session_id)
        assert len(server.asked) == 2


async def test_a_summary_leaves_the_choice_of_tools_as_it_was_until_the_cache_is_lost_anyway() -> None:
    async with meet_managing(ManagedAnthropicWire(), replies(say("Hm."), say(GOOD)), window=100_000) as (
        client,
        server,
    ):
        session = await client.call("session/new", tools=[{"name": "look", "description": "Looks."}])
        for number in range(6):
            await client.say(session["sessionId"], f"Question {number}. " * 60, f"Nothing {number}. " * 60)
        await client.call("context/compact", sessionId=session["sessionId"])
        assert ["tool_choice" in received.body for received in server.asked] == [False, True]
        assert all(received.body["tools"] for received in server.asked)


async def test_a_short_conversation_is_summarised_as_ever() -> None:
    async with meet_managing(ManagedAnthropicWire(), lambda _: say(GOOD), window=100_000) as (
        client,
        server,
    ):
        session = await client.call("session/new")
        for number in range(6):
            await client.say(session["sessionId"], f"Question {number}. " * 60, f"Nothing {number}. " * 60)
        await client.call("context/compact", sessionId=session["sessionId"])
        assert ["context_management" in received.body for received in server.asked] == [False]
