"""Every recorded conversation can be read, and each omission has a stated reason."""

from collections import Counter
from pathlib import Path

import pytest

from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import ROOT, conversation, conversation_files
from ullage.agents.transcripts import read_document
from ullage.formats.requests.anthropic import write_anthropic
from ullage.formats.requests.openai import write_openai
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, Record, UsageReported
from ullage.model.message import Message, Role, ToolResultBlock, ToolUseBlock
from ullage.system.transcript_files import read_transcript_file
from ullage.transcript.fold import Transcript

FILES = conversation_files()
pytestmark = pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())


def transcript_of(path: Path) -> ImportedTranscript:
    return read_document(read_transcript_file(path))


def messages_of(path: Path) -> list[Message]:
    transcript = transcript_of(path)
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


@every_file
def test_no_part_is_skipped_unexplained(path: Path) -> None:
    transcript = transcript_of(path)
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@every_file
def test_message_ids_are_unique(path: Path) -> None:
    ids = [message.id for message in messages_of(path)]
    assert ids
    assert len(set(ids)) == len(ids)


@every_file
def test_every_tool_result_follows_its_call(path: Path) -> None:
    called: Counter[str] = Counter()
    for message in messages_of(path):
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                called[block.id] += 1
            elif isinstance(block, ToolResultBlock):
                called[block.tool_use_id] -= 1
                assert called[block.tool_use_id] >= 0


@every_file
def test_the_conversation_becomes_a_request_both_providers_accept(path: Path) -> None:
    messages = messages_of(path)
    assert anthropic_violations(write_anthropic(messages).messages) == []
    assert openai_violations(write_openai(messages).messages) == []


@every_file
def test_the_folded_view_becomes_a_request_both_providers_accept(path: Path) -> None:
    folded = Transcript()
    for position, event in enumerate(transcript_of(path).events):
        folded.apply(Record(position=position, timestamp=0, event=event))
    assert anthropic_violations(write_anthropic(folded.view).messages) == []
    assert openai_violations(write_openai(folded.view).messages) == []


@pytest.mark.parametrize("session", ["258c7280-ae70-4798-800f-63464d01a85d", "ae4a77f8-aedd-4bc1-888f-c94edc91af04"])
def test_a_recorded_compaction_begins_the_view_and_fits_the_next_report(session: str) -> None:
    path = conversation(f"claude_code_spotter/{session}.jsonl")
    events = transcript_of(path).events
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
    events = transcript_of(path).events
    reports = [event.message_id for event in events if isinstance(event, UsageReported)]
    answers = [message.id for message in messages_of(path) if message.role is Role.ASSISTANT]
    assert reports[-1:] == (answers[-1:] if reports else [])
