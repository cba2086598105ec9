"""Sessions of Droid, from its store and as it prints them."""

import json
from pathlib import Path
from typing import Any

from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from ullage.agents.transcripts import read_document
from ullage.model.blocks import ToolResultBlock, ToolUseBlock, join_texts
from ullage.system.transcript_files import read_transcript_file
from ullage.transcript.fold import project

START = {"type": "session_start", "id": "s", "title": "first words", "sessionTitle": "Casks", "cwd": "/home/dev/shop"}


def said(name: str, role: str, *content: Any, **facts: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(content)} | facts
    return {"type": "message", "id": name, "timestamp": "2026-01-01T00:00:00Z", "message": message}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_a_stored_session_is_read_line_by_line() -> None:
    transcript = read_lines(
        START | {"version": "0.81.0"},
        said("m1", "user", text("go")),
        said("m2", "assistant", text("I look."), {"type": "tool_use", "id": "t", "name": "Execute", "input": {}}),
        said("m3", "user", {"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": True}),
        said("m4", "user", text("a hook ran"), visibility="user_only"),
        {"type": "todo_state", "todos": "1. fill"},
        {"type": "levitation"},
    )
    assert [message.id for message in messages_of(transcript)] == ["m1", "m2", "m3"]
    result = messages_of(transcript)[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert (result.is_error, join_texts(result.content)) == (True, "out")
    facts = (transcript.agent, transcript.version, transcript.title, transcript.cwd, transcript.session_id)
    assert facts == ("Droid", "0.81.0", "Casks", "/home/dev/shop", "s")
    assert [part.reason for part in transcript.skipped if not part.expected] == ["levitation line"]


def test_a_compaction_leaves_the_messages_that_it_did_not_remove() -> None:
    compaction = {"type": "compaction_state", "id": "c", "summaryText": "The story.", "removedCount": 2}
    lines = [said(f"m{number}", "user", text(str(number))) for number in range(3)]
    transcript = read_lines(START, *lines, compaction)
    view = project(transcript.events)
    assert [message.compaction.summary if message.compaction else message.text for message in view] == [
        "The story.",
        "2",
    ]


def test_the_model_is_the_one_of_the_settings_beside_the_session(tmp_path: Path) -> None:
    folder = tmp_path / ".factory" / "sessions" / "-home-dev-shop"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(to_lines(START, said("m1", "user", text("go"))))
    (folder / "s.settings.json").write_text(json.dumps({"model": "some-model", "tokenUsage": {"inputTokens": 9}}))
    transcript = read_document(read_transcript_file(folder / "s.jsonl"))
    assert (transcript.model, reports_of(transcript)) == ("some-model", [])


CALLED = (
    {"type": "system", "session_id": "s", "model": "m", "cwd": "/home/dev/shop"},
    {"type": "message", "role": "user", "text": "go", "id": "m1"},
    {"type": "message", "role": "assistant", "text": "I look.", "id": "m2"},
    {"type": "tool_call", "toolCallId": "t", "toolName": "Execute", "parameters": {"command": "ls"}},
    {"type": "tool_result", "toolCallId": "t", "value": {"stdout": "out"}, "isError": True},
)
USAGE = {"input_tokens": 30, "output_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 0}


def test_a_printed_run_joins_an_answer_with_its_calls() -> None:
    transcript = read_lines(*CALLED, {"type": "completion", "finalText": "Done.", "id": "end", "usage": USAGE})
    assert texts_of(messages_of(transcript)) == ["user: go", "assistant: I look.", "user: ", "assistant: Done."]
    assert [type(block) for block in messages_of(transcript)[1].content][1] is ToolUseBlock
    assert (transcript.model, transcript.cwd, transcript.session_id) == ("m", "/home/dev/shop", "s")
    # The usage of a run is the sum of its requests.
    assert reports_of(transcript) == []


def test_the_usage_of_a_run_with_one_request_is_that_of_its_answer() -> None:
    answer = {"type": "message", "role": "assistant", "text": "Hi.", "id": "m2"}
    end = {"type": "completion", "finalText": "Hi.", "id": "end", "usage": USAGE}
    transcript = read_lines(*CALLED[:2], answer, end)
    assert texts_of(messages_of(transcript)) == ["user: go", "assistant: Hi."]
    assert [(report.message_id, report.usage.prompt) for report in reports_of(transcript)] == [("m2", 100)]
