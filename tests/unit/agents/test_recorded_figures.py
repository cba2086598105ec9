"""The figure of each recorded conversation is the size that its own file last reports."""

import pytest

from support.transcripts import conversation, recorded
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, UsageReported

pytestmark = pytest.mark.no_cover

# Read by hand in the files: the last count of a whole request, or of its parts, that precedes no compaction.
LAST_REPORTS = {
    "gemini_cli/session-f7633853.json": 14_269,
    "live/gemini-cli/chats/session-2026-11-22T01-43-e81b9ec9.jsonl": 612_114,
    "live/gemini-cli/session-2026-11-22T01-30-11111111.jsonl": 12_108,
    "agent_fixtures/gemini__jsonl_v040.jsonl": 12_216,
    "live/opencode/opencode.db": 7_939,
    "live/opencode/export.json": 7_911,
    "live/kilo/kilo.db": 13_065,
    "live/cline/1795300000001_hand1/1795300000001_hand1.messages.json": 23_317 + 37,
    "live/cline/1795312433931_vydr4/1795312433931_vydr4.messages.json": 6_155 + 37,
    "live/kimi-code/agents/main/wire.jsonl": 22_407,
    "live/kimi-code/with-subagent/agents/agent-0/wire.jsonl": 16_904,
    "live/openhands/f50b0a8adfbd4067bbe0c6bfef48038d/base_state.json": 8_985,
    "live/aider/aider.chat.history.md": 604,
    "live/pi/2026-11-22T01-50-21-118Z_01a200f2-7bbd-7235-a89c-b47a68018756.jsonl": 1_773,
    "live/pi-1.5.2/2026-11-22T02-04-37-150Z_01a200ff-8b9e-785f-a025-fbd7d9b30dca.jsonl": 1_763,
    "pi/large-session.jsonl": 53 + 176_585 + 1_019,
}
# Size in tokens at which each recorded compaction was made, by the file's own last count before it.
COMPACTIONS = {
    "live/gemini-cli/chats/session-2026-11-22T01-43-e81b9ec9.jsonl": 612_099,
    "live/opencode/export.json": 102_906,
    "live/kimi-code/agents/main/wire.jsonl": 116_918,
    "live/pi/2026-11-22T01-50-21-118Z_01a200f2-7bbd-7235-a89c-b47a68018756.jsonl": 89_639,
    "live/cline/1795300000001_hand1/1795300000001_hand1.messages.json": 251_261,
}


@pytest.mark.parametrize("relative", LAST_REPORTS)
def test_the_last_report_is_the_files_own_and_each_belongs_to_an_answer_before_it(relative: str) -> None:
    answers: set[str] = set()
    totals: list[int] = []
    for event in recorded(conversation(relative)).events:
        if isinstance(event, MessageAppended) and event.message.role == "assistant":
            answers.add(event.message.id)
        elif isinstance(event, UsageReported):
            assert event.message_id in answers
            totals.append(event.usage.total)
    assert totals[-1] == LAST_REPORTS[relative]


@pytest.mark.parametrize("relative", COMPACTIONS)
def test_a_compaction_knows_the_size_that_it_was_made_at(relative: str) -> None:
    edits = [event.edit for event in recorded(conversation(relative)).events if isinstance(event, ContextEdited)]
    blocks = [edit.marker.compaction for edit in edits if isinstance(edit, CompactionEdit)]
    assert [block.context_size_before for block in blocks if block] == [COMPACTIONS[relative]]
