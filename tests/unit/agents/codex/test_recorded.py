"""Session files that Codex wrote: nothing is unexplained, and the last usage is the last answer's."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from support.transcripts import ROOT
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document, parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, UsageReported
from ullage.model.json_values import as_object
from ullage.model.message import Role

FILES = sorted(
    path
    for pattern in ("codex_rollout/*.jsonl", "live/codex/*.jsonl", "agent_fixtures/codex__*.jsonl")
    for path in ROOT.glob(pattern)
)
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(not FILES, reason="no recorded session files on this machine (set ULLAGE_TRANSCRIPTS)"),
]


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def document(path: Path) -> Document:
    """A session file with the others of its folder, to which forks refer."""
    others = [other for other in path.parent.glob("*.jsonl") if other != path and path.parent.name == "codex"]
    companions = tuple(parse_document(other.read_bytes(), other.name) for other in others)
    return replace(parse_document(path.read_bytes(), path.name), companions=companions)


@pytest.fixture(scope="module")
def transcript(document: Document) -> ImportedTranscript:
    return read_document(document)


def test_no_line_is_unexplained(transcript: ImportedTranscript) -> None:
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


def test_every_message_that_was_said_is_in_the_transcript(document: Document, transcript: ImportedTranscript) -> None:
    messages = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
    texts = "\n".join(message.text for message in messages)
    for value in document.objects:
        payload = as_object(value.get("payload"))
        if value.get("type") == "event_msg" and payload.get("type") in ("user_message", "agent_message"):
            assert str(payload.get("message")).strip() in texts


def test_the_last_usage_of_the_file_is_that_of_the_last_answer(
    path: Path, document: Document, transcript: ImportedTranscript
) -> None:
    counts = [
        as_object(as_object(payload.get("info")).get("last_token_usage"))
        for value in document.objects
        if (payload := as_object(value.get("payload"))).get("type") == "token_count"
    ]
    prompts = [count["input_tokens"] for count in counts if count.get("input_tokens")]
    reports = [event for event in transcript.events if isinstance(event, UsageReported)]
    if not prompts:
        return
    assert reports[-1].usage.prompt == prompts[-1]
    if path.parent.name != "agent_fixtures":
        answers = [
            event.message.id
            for event in transcript.events
            if isinstance(event, MessageAppended) and event.message.role is Role.ASSISTANT
        ]
        assert reports[-1].message_id == answers[-1]
