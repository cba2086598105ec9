"""Every recorded conversation, appended message by message over stdio, ends as a context that its model accepts.

One server has all conversations, as that of an editor which stays open for days."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from support.lsp_client import Json, LspClient
from support.program import language_server
from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import ROOT, conversation, model_conversation_files, recorded
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import ContextLimits
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Block, Message

# Tokens: small enough that most recordings are compacted several times.
SMALL_WINDOW = 24_000
# That of a model whose window nobody knows.
SET_WINDOW = 128_000
CHECKERS = {"anthropic": anthropic_violations, "openai": openai_violations}
NAMES = [path.relative_to(ROOT).as_posix() for path in model_conversation_files()]
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not NAMES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)"),
]


def read(name: str) -> ImportedTranscript:
    path = conversation(name)
    return recorded(path)


def append_params(session_id: str, event: Event) -> Json | None:
    match event:
        case MessageAppended(message=message):
            return {"sessionId": session_id, "messages": [msgspec.to_builtins(message)]}
        case ToolsDeclared(tools=tools):
            return {"sessionId": session_id, "tools": msgspec.to_builtins(tools)}
        case UsageReported(usage=usage) if usage.total:
            return {"sessionId": session_id, "usage": msgspec.to_builtins(usage)}
        case _:
            return None


async def play(client: LspClient, transcript: ImportedTranscript, *, with_usage: bool) -> str:
    """Appends every message, waits for each answer, and returns the session's id."""
    client.notifications.clear()
    session = await client.request("ullage/session/new", {"model": transcript.model})
    for event in transcript.events:
        params = append_params(session["sessionId"], event)
        if params is not None and (with_usage or not isinstance(event, UsageReported)):
            await client.request("ullage/session/append", params)
    return session["sessionId"]


async def assert_ready_to_send(client: LspClient, session_id: str) -> Json:
    """Checks that the context keeps both providers' rules and its model's window. Returns the context's figures."""
    for provider, violations in CHECKERS.items():
        params = {"sessionId": session_id, "provider": provider}
        answer = await client.request("ullage/context/messages", params)
        assert violations(answer["request"]["messages"]) == []
    usage = await client.request("ullage/context/get", {"sessionId": session_id})
    assert usage["used"] <= usage["_meta"]["ullage"]["usable"] <= usage["size"]
    return usage


async def everything(client: LspClient, session_id: str) -> list[tuple[str, tuple[Block, ...]]]:
    """Returns id and content of every message of the transcript, as the server lists them."""
    params = {"sessionId": session_id, "scope": "transcript"}
    answer = await client.request("ullage/context/messages", params)
    messages = [msgspec.convert(entry["message"], Message) for entry in answer["entries"] if not entry.get("inserted")]
    return [(message.id, message.content) for message in messages]


async def served(store: Path, windows: dict[str, int]) -> AsyncGenerator[LspClient]:
    """Runs a server with these windows of models. It must end without a fault."""
    settings: Any = {"models": {model: {"window": window} for model, window in windows.items()}}
    async with language_server(store, settings) as client:
        yield client
        assert await client.shutdown() == 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def roomy(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[LspClient]:
    """A server that knows the window of each model."""
    unknown = {model for name in NAMES if not ContextLimits.for_model(model := read(name).model).input}
    async for client in served(tmp_path_factory.mktemp("roomy") / "s.db", dict.fromkeys(unknown, SET_WINDOW)):
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[LspClient]:
    """A server for which each model's window is small."""
    models = {read(name).model for name in NAMES}
    async for client in served(tmp_path_factory.mktemp("narrow") / "s.db", dict.fromkeys(models, SMALL_WINDOW)):
        yield client


@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_conversation_ends_under_the_window_of_its_model(name: str, roomy: LspClient) -> None:
    transcript = read(name)
    assert [line for line in transcript.skipped if not line.expected] == []
    session_id = await play(roomy, transcript, with_usage=True)
    usage = await assert_ready_to_send(roomy, session_id)
    assert usage["size"] == (ContextLimits.for_model(transcript.model).input or SET_WINDOW), transcript.model


@pytest.mark.parametrize("name", NAMES)
async def test_in_a_small_window_it_is_compacted_on_the_way_and_loses_nothing(name: str, narrow: LspClient) -> None:
    transcript = read(name)
    appended = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
    session_id = await play(narrow, transcript, with_usage=False)
    await assert_ready_to_send(narrow, session_id)
    assert await everything(narrow, session_id) == [(message.id, message.content) for message in appended]
    restored = await narrow.request("ullage/context/restore", {"sessionId": session_id, "timestamp": 0})
    usage = restored["usage"]
    assert usage["_meta"]["ullage"]["messagesArchived"] == 0
    assert usage["_meta"]["ullage"]["messagesActive"] == len(appended)
