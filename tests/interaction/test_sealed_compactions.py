"""A provider with encrypted compactions: the user sees a compaction of Ullage, the provider gets its own sealed one."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.summaries import GOOD
from support.wire.clients import KEY, settings_of
from support.wire.replies import say
from support.wire.responses_compact import SEALED, CompactingResponsesWire, sealed_items
from support.wire.server import WireServer, replies
from support.workspace import Live, OneProvider, TestClient, build_test_client
from ullage.formats.requests.anthropic import write_anthropic
from ullage.model.settings import Settings, SummarySettings
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
