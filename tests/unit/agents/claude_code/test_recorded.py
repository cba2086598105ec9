"""Recorded sessions: a plain count of what a file says is compared with what was read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.foreign import messages_of
from support.transcripts import ROOT
from ullage.agents.transcripts import read
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import CompactionEdit, ContextEdited, UsageReported
from ullage.model.message import TextBlock, ToolResultBlock, ToolUseBlock

PATTERNS = ("claude_code_*/**/*.jsonl", "live/claude_code/**/*.jsonl")
FILES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)"),
]


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def transcript(path: Path) -> ImportedTranscript:
    """Each recorded session, which is read once for all tests."""
    return read(path.read_bytes(), path.name)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the messages of the file's own conversation, not those of sub-agents in a main file."""
    texts = (text for text in path.read_text(encoding="utf-8").split("\n") if text.strip())
    found: list[dict[str, Any]] = [json.loads(text) for text in texts if not text.startswith("//")]
    said = [value for value in found if value.get("type") in ("user", "assistant")]
    is_side = all(value.get("isSidechain") for value in said)
    yield from (value for value in said if bool(value.get("isSidechain")) == is_side)


def blocks(value: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = value["message"]["content"]
    found = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in found if block.get("type") == kind]


def test_every_answer_call_result_and_word_of_the_user_is_in_the_transcript(
    path: Path, transcript: ImportedTranscript
) -> None:
    said = list(objects(path))
    messages = messages_of(transcript)
    edits = [event.edit for event in transcript.events if isinstance(event, ContextEdited)]
    content = [block for message in messages for block in message.content]
    texts = {block.text for block in content if isinstance(block, TextBlock)}
    for edit in edits:
        if isinstance(edit, CompactionEdit) and edit.marker.compaction:
            texts.add(edit.marker.compaction.summary)

    answers = [value for value in said if value["type"] == "assistant" and not value.get("isApiErrorMessage")]
    assert {value["message"].get("id") or value["uuid"] for value in answers} <= {message.id for message in messages}
    calls = {block["id"] for value in answers for block in blocks(value, "tool_use")}
    assert calls == {block.id for block in content if isinstance(block, ToolUseBlock)}
    prompts = [value for value in said if value["type"] == "user"]
    results = {block["tool_use_id"] for value in prompts for block in blocks(value, "tool_result")}
    assert results == {block.tool_use_id for block in content if isinstance(block, ToolResultBlock)}
    assert {block["text"] for value in prompts for block in blocks(value, "text") if block["text"]} <= texts


def test_the_last_report_is_the_files_last_usage(path: Path, transcript: ImportedTranscript) -> None:
    usages: list[dict[str, Any]] = [
        value["message"].get("usage") or {} for value in objects(path) if value["type"] == "assistant"
    ]
    totals = [sum(usage.get(name) or 0 for name in NAMES) for usage in usages]
    reports = [event.usage.total for event in transcript.events if isinstance(event, UsageReported)]
    assert reports[-1:] == [total for total in totals if total][-1:]
