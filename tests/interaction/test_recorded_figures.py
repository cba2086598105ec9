"""The figures of real recorded conversations: what their agents' own files say, to the token."""

from pathlib import Path
from typing import Any

import pytest

from support.transcripts import ROOT, conversation, conversation_files, recorded
from support.workspace import TestClient, build_test_client
from ullage.agents.own_context import Rule, Setup
from ullage.agents.table import agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
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

FILES = conversation_files()
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
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
some_files = pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")


async def brought_in(path: Path) -> tuple[TestClient, Conversation, ImportedTranscript]:
    client = build_test_client()
    transcript = recorded(path)
    return client, await import_transcript(client.workspace, transcript, ""), transcript


def last_report(transcript: ImportedTranscript) -> UsageReported | None:
    """Returns the last usage, None if there is none or if the agent has compacted since."""
    for event in reversed(transcript.events):
        if isinstance(event, UsageReported) and event.usage.prompt:
            return event
        if isinstance(event, ContextEdited):
            return None
    return None


@some_files
@every_file
async def test_the_last_report_of_a_file_is_its_figure_and_its_import_changes_nothing(path: Path) -> None:
    client, conversation_, transcript = await brought_in(path)
    is_last_report_the_figure(conversation_, transcript)
    await conversation_.settled()
    made = [event for event in transcript.events if isinstance(event, ContextEdited)]
    assert len(conversation_.transcript.edits) == len(made)
    meta, times = usage_meta(conversation_), [_time(event) for event in transcript.events]
    assert meta.as_of == (max(times) or None)
    assert meta.as_of != client.clock.now()
    again = build_test_client(store=client.workspace.ports.store)
    assert usage_meta(again.workspace.open(conversation_.id)) == meta


def is_last_report_the_figure(conversation_: Conversation, transcript: ImportedTranscript) -> None:
    meta, report = usage_meta(conversation_), last_report(transcript)
    if report is None or conversation_.projection.tracker.doubts:
        assert meta.source == "estimated"
        return
    ids = [event.message.id for event in transcript.events if isinstance(event, MessageAppended)]
    follows = len(ids) - 1 - ids.index(report.message_id)
    assert meta.pending_messages == follows
    if follows:
        assert meta.source == "stale"
        assert report.usage.prompt <= conversation_.used <= report.usage.total * 1.1 + 4_000
    else:
        assert (meta.source, conversation_.used) == ("reported", report.usage.total)


def _time(event: Any) -> int:
    if isinstance(event, UsageReported | ContextEstimated):
        return event.timestamp
    return event.message.timestamp if isinstance(event, MessageAppended) else 0


async def test_a_conversation_that_was_compacted_at_167k_has_a_window_of_200k() -> None:
    _, conversation_, _ = await brought_in(conversation(SPOTTER))
    meta = usage_meta(conversation_)
    assert (conversation_.used, meta.percent) == (77_419, 39)
    assert meta.window is not None
    assert meta.threshold is not None
    assert (meta.window.size, meta.window.source) == (200_000, "log")
    assert (meta.threshold.tokens, meta.threshold.source, meta.threshold.times) == (167_000, "learned", 1)


async def test_a_conversation_that_changes_its_model_keeps_its_last_report() -> None:
    _, conversation_, transcript = await brought_in(conversation(HAND_COMPACTED))
    report = last_report(transcript)
    assert report is not None
    assert (conversation_.used, usage_meta(conversation_).source) == (report.usage.total, "reported")


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
