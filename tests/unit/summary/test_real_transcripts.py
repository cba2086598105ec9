"""The offline summary of recorded conversations: within its budget, well filled, and fast enough."""

from functools import cache
from pathlib import Path

import pytest

from support.conversations import places
from support.transcripts import ROOT, conversation, conversation_files, recorded
from ullage.model.events import MessageAppended
from ullage.model.message import CompactionBlock, Message, render_marker
from ullage.summary.composition import compose
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import get_counter

pytestmark = pytest.mark.no_cover

FILES = conversation_files()
SPOTTER = "claude_code_spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl"


@cache
def messages_of(path: Path) -> tuple[Message, ...]:
    events = recorded(path).events
    return tuple(event.message for event in events if isinstance(event, MessageAppended))


def compacted(messages: tuple[Message, ...], tokens: int) -> str:
    request = SummaryRequest(messages=messages, indices=places(messages), max_tokens=tokens)
    composition = compose(request, get_counter("gpt-4o"))
    return render_marker(
        CompactionBlock(
            compaction_number=1,
            timestamp=0,
            summary=composition.summary,
            messages_archived=len(messages),
            context_size_before=0,
            ledger=composition.ledger,
        )
    )


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(ROOT).as_posix() for path in FILES])
def test_half_of_a_recorded_conversation_fits_its_budget(path: Path) -> None:
    messages = messages_of(path)
    half = messages[: max(len(messages) // 2, 1)]
    for tokens in (1_000, 4_000):
        assert get_counter("gpt-4o").count(compacted(half, tokens)) <= tokens


def test_a_long_recorded_conversation_fills_a_small_budget() -> None:
    messages = messages_of(conversation(SPOTTER))
    assert get_counter("gpt-4o").count(compacted(messages[:200], 1_000)) >= 900


def test_the_facts_one_needs_to_go_on_are_there() -> None:
    text = compacted(messages_of(conversation(SPOTTER))[:181], 4_000)
    assert "Implement spotter-gqc" in text
    assert "[in progress] spotter-gqc.5" in text
    assert "last commit ceff8c3" in text
    assert "annotation_message_ref.ex" in text
    assert "project_review_live.ex" in text
