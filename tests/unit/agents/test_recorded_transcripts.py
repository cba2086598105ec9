"""Every recorded conversation can be read, and each omission has a stated reason."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.provider_rules import anthropic_violations, openai_violations
from support.tables import every
from support.transcripts import conversation, conversation_files, recorded
from ullage.formats.provider import write_anthropic, write_openai
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, Record, UsageReported
from ullage.model.message import Message, Role, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import Transcript

FILES = conversation_files()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)"),
]


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


@every("path", FILES or [None])
def test_no_part_is_skipped_unexplained_and_both_providers_accept_the_conversation_and_its_view(path: Path) -> None:
    transcript = recorded(path)
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []
    messages = messages_of(transcript)
    ids = [message.id for message in messages]
    assert ids
    assert len(set(ids)) == len(ids)
    assert_each_result_follows_its_call(messages)
    folded = Transcript()
    for position, event in enumerate(transcript.events):
        folded.apply(Record(position=position, timestamp=0, event=event))
    for asked in (messages, folded.view):
        assert anthropic_violations(write_anthropic(asked).messages) == []
        assert openai_violations(write_openai(asked).messages) == []


def assert_each_result_follows_its_call(messages: Sequence[Message]) -> None:
    called: Counter[str] = Counter()
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                called[block.id] += 1
            elif isinstance(block, ToolResultBlock):
                called[block.tool_use_id] -= 1
                assert called[block.tool_use_id] >= 0


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
