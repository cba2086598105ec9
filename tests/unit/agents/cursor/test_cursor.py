"""Transcripts of Cursor's CLI."""

from typing import Any

from support.foreign import messages_of, read_lines
from ullage.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, join_texts


def line(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(content)}}


def test_calls_without_ids_are_paired_with_their_results() -> None:
    transcript = read_lines(
        line("user", {"type": "text", "text": "go"}),
        line(
            "assistant",
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_call", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "card", "text": "something new"},
        ),
        line("user", {"type": "tool-result", "name": "read_file", "content": [{"type": "text", "text": "out"}]}),
        {"type": "turn_ended", "status": "success"},
    )
    _, asked, given = messages_of(transcript)
    assert asked.content == (
        ThinkingBlock(thinking="hm"),
        ToolUseBlock(id="call1", name="read_file", input={"path": "a.py"}),
        TextBlock(text="something new"),
    )
    (result,) = given.content
    assert isinstance(result, ToolResultBlock)
    assert (result.tool_use_id, join_texts(result.content)) == ("call1", "out")
    assert (transcript.format, transcript.agent) == ("cursor-cli", "Cursor")
    assert [part for part in transcript.skipped if not part.expected] == []


def test_answers_whose_results_were_not_written_stay_apart() -> None:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    transcript = read_lines(
        line("user", {"type": "text", "text": "go"}), line("assistant", call), line("assistant", call)
    )
    assert [len(message.content) for message in messages_of(transcript)] == [1, 1, 1]


def test_an_unknown_line_is_told() -> None:
    transcript = read_lines(line("user", {"type": "text", "text": "go"}), {"type": "levitation"})
    assert [part.reason for part in transcript.skipped if not part.expected] == ["levitation line"]
