"""The figures of real recorded conversations: what their agents' own files say, to the token."""

from pathlib import Path
from typing import Any

import pytest

from support.transcripts import conversation, recorded
from support.workspace import TestClient, build_test_client
from ullage.agents.own_context import Rule, Setup
from ullage.agents.table import agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    EditTrigger,
    MessageAppended,
    UsageReported,
    compaction_block,
)
from ullage.model.message import Role
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import usage_meta
from ullage.service.sessions import import_transcript

pytestmark = pytest.mark.no_cover

# More of the same agents, with automatic compactions.
COMPACTED = [
    f"claude_code_entire/{name}.jsonl"
    for name in (
        "0442a060-edc3-4307-bddb-11a2951fd1a1",
        "53ea1606-cf60-417b-928a-068324ecc7b3",
        "847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1",
        "deeac353-0765-4439-9056-293619a99172",
    )
] + ["claude_code_spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl"]
SPOTTER, HAND_COMPACTED = COMPACTED[-1], "claude_code_spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"


async def brought_in(path: Path) -> tuple[TestClient, Conversation, ImportedTranscript]:
    client = build_test_client()
    transcript = recorded(path)
    return client, await import_transcript(client.workspace, transcript, ""), transcript


async def test_a_conversation_that_was_compacted_at_167k_has_a_window_of_200k() -> None:
    _, conversation_, _ = await brought_in(conversation(SPOTTER))
    meta = usage_meta(conversation_)
    assert (conversation_.used, meta.percent) == (77_419, 39)
    assert meta.window is not None
    assert meta.threshold is not None
    assert (meta.window.size, meta.window.source) == (200_000, "log")
    assert (meta.threshold.tokens, meta.threshold.source, meta.threshold.times) == (167_000, "learned", 1)


@pytest.mark.parametrize("name", COMPACTED)
def test_recorded_automatic_compactions_follow_the_rule(name: str) -> None:
    transcript = recorded(conversation(name))
    agent = agent_of_format(transcript.format)
    assert agent is not None
    version, checked = "", 0
    for event in transcript.events:
        if isinstance(event, ConversationImported):
            version = event.version
        if not isinstance(event, ContextEdited) or not isinstance(event.edit, CompactionEdit):
            continue
        if event.edit.trigger is EditTrigger.AUTOMATIC:
            rule = agent.own_context.threshold(Setup(version=version, window=200_000))
            assert isinstance(rule, Rule)
            before = compaction_block(event.edit).context_size_before
            assert rule.tokens * 0.999 <= before <= rule.tokens * 1.15
            checked += 1
    assert checked


@pytest.mark.parametrize("name", [*COMPACTED, HAND_COMPACTED])
async def test_the_first_figure_after_a_recorded_compaction_is_near_the_next_prompt(name: str) -> None:
    transcript = recorded(conversation(name))
    client = build_test_client()
    begun = await import_transcript(client.workspace, _up_to_compaction(transcript), "")
    answer = next(
        event
        for event in transcript.events[len(begun_events(transcript)) :]
        if isinstance(event, UsageReported) and event.usage.prompt
    )
    meta = usage_meta(begun)
    assert meta.source == "estimated"
    assert abs(begun.used - answer.usage.prompt) <= 0.1 * answer.usage.prompt
    assert meta.error_share is not None
    assert meta.error_share >= 0.04


def begun_events(transcript: ImportedTranscript) -> tuple[Any, ...]:
    """Returns the events up to the first answer after the last compaction."""
    events = transcript.events
    last = max(index for index, event in enumerate(events) if isinstance(event, ContextEdited))
    end = next(
        index
        for index, event in enumerate(events)
        if index > last and isinstance(event, MessageAppended) and event.message.role is Role.ASSISTANT
    )
    return events[:end]


def _up_to_compaction(transcript: ImportedTranscript) -> ImportedTranscript:
    return ImportedTranscript(format=transcript.format, events=begun_events(transcript), model=transcript.model)
