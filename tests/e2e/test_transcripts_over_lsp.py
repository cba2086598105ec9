"""Every recorded conversation, appended message by message over stdio, ends as a context that its model accepts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.lsp_client import Json, LspClient
from support.program import language_server
from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import ROOT, conversation, model_conversation_files, recorded
from ullage.catalog.limits import ContextLimits
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import Block
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Message

# Tokens: small enough that most recordings are compacted several times.
SMALL_WINDOW = 24_000
CHECKERS = {"anthropic": anthropic_violations, "openai": openai_violations}
NAMES = [path.relative_to(ROOT).as_posix() for path in model_conversation_files()]


def read(name: str) -> ImportedTranscript:
    path = conversation(name)
    return recorded(path)


def append_params(session_id: str, event: Event) -> Json | None:
    match event:
        case MessageAppended(message=message):
            return {"sessionId": session_id, "messages": [msgspec.to_builtins(message)]}
        case ToolsDeclared(tools=tools):
            return {"sessionId": session_id, "tools": msgspec.to_builtins(tools)}
        case UsageReported(usage=usage):
            return {"sessionId": session_id, "usage": msgspec.to_builtins(usage)}
        case _:
            return None


async def play(client: LspClient, transcript: ImportedTranscript, *, with_usage: bool) -> str:
    """Appends every message, waits for each answer, and returns the session's id."""
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


def settings(model: str, window: int) -> Any:
    return {"models": {model: {"window": window}}}


@pytest.mark.skipif(not NAMES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")
@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_conversation_ends_under_the_window_of_its_model(name: str, tmp_path: Path) -> None:
    transcript = read(name)
    assert [line for line in transcript.skipped if not line.expected] == []
    window = ContextLimits.for_model(transcript.model).input
    model = transcript.model or "unnamed"
    async with language_server(tmp_path / "s.db", None if window else settings("", 128_000)) as client:
        session_id = await play(client, transcript, with_usage=True)
        usage = await assert_ready_to_send(client, session_id)
        assert usage["size"] == (window or 128_000), model
        assert await client.shutdown() == 0


@pytest.mark.skipif(not NAMES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")
@pytest.mark.parametrize("name", NAMES)
async def test_in_a_small_window_it_is_compacted_on_the_way_and_loses_nothing(name: str, tmp_path: Path) -> None:
    transcript = read(name)
    appended = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
    async with language_server(tmp_path / "s.db", settings(transcript.model, SMALL_WINDOW)) as client:
        session_id = await play(client, transcript, with_usage=False)
        await assert_ready_to_send(client, session_id)
        assert await everything(client, session_id) == [(message.id, message.content) for message in appended]
        restored = await client.request("ullage/context/restore", {"sessionId": session_id, "timestamp": 0})
        usage = restored["usage"]
        assert usage["_meta"]["ullage"]["messagesArchived"] == 0
        assert usage["_meta"]["ullage"]["messagesActive"] == len(appended)
        assert await client.shutdown() == 0
