"""Every recorded conversation can be read, and each omission has a stated reason."""

from collections import Counter
from pathlib import Path

import pytest

from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import ROOT, conversation, conversation_files, recorded
from ullage.formats.provider import write_anthropic, write_openai
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, Record, UsageReported
from ullage.model.message import Message, Role, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import Transcript

FILES = conversation_files()
pytestmark = pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def transcript(request: pytest.FixtureRequest) -> ImportedTranscript:
    """Each recorded conversation, which is read once for all tests."""
    return recorded(request.param)


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def test_no_part_is_skipped_unexplained(transcript: ImportedTranscript) -> None:
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


def test_message_ids_are_unique(transcript: ImportedTranscript) -> None:
    ids = [message.id for message in messages_of(transcript)]
    assert ids
    assert len(set(ids)) == len(ids)


def test_every_tool_result_follows_its_call(transcript: ImportedTranscript) -> None:
    called: Counter[str] = Counter()
    for message in messages_of(transcript):
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                called[block.id] += 1
            elif isinstance(block, ToolResultBlock):
                called[block.tool_use_id] -= 1
                assert called[block.tool_use_id] >= 0


def test_the_conversation_becomes_a_request_both_providers_accept(transcript: ImportedTranscript) -> None:
    messages = messages_of(transcript)
    assert anthropic_violations(write_anthropic(messages).messages) == []
    assert openai_violations(write_openai(messages).messages) == []


def test_the_folded_view_becomes_a_request_both_providers_accept(transcript: ImportedTranscript) -> None:
    folded = Transcript()
    for position, event in enumerate(transcript.events):
        folded.apply(Record(position=position, timestamp=0, event=event))
    assert anthropic_violations(write_anthropic(folded.view).messages) == []
    assert openai_violations(write_openai(folded.view).messages) == []


@pytest.mark.parametrize("session", ["258c7280-ae70-4798-800f-63464d01a85d", "ae4a77f8-aedd-4bc1-888f-c94edc91af04"])
def test_a_recorded_compaction_begins_the_view_and_fits_the_next_report(session: str) -> None:
    events = recorded(conversation(f"claude_code_spotter/{session}.jsonl")).events
    (at,) = [index for index, event in enumerate(events) if isinstance(event, ContextEdited)]
    before = [event.usage.prompt for event in events[:at] if isinstance(event, UsageReported)][-1]
    after = next(event.usage.prompt for event in events[at:] if isinstance(event, UsageReported))
    (edit,) = [event.edit for event in events if isinstance(event, ContextEdited)]
    assert isinstance(edit, CompactionEdit)
    assert edit.marker.compaction is not None
    # The agent's figure includes the answer and the agent's reserve.
    assert before <= edit.marker.compaction.context_size_before <= 1.1 * before
    assert after < 0.35 * before


@pytest.mark.parametrize("path", [file for file in FILES if "copilot" in str(file)], ids=lambda path: path.name)
def test_the_last_report_of_copilot_cli_belongs_to_its_last_answer(path: Path) -> None:
    read = recorded(path)
    reports = [event.message_id for event in read.events if isinstance(event, UsageReported)]
    answers = [message.id for message in messages_of(read) if message.role is Role.ASSISTANT]
    assert reports[-1:] == (answers[-1:] if reports else [])
