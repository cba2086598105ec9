"""Transcripts of Antigravity: steps of the user, the model and the program."""

from typing import Any

from support.foreign import messages_of, read_lines, texts_of
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import project


def step(kind: str, source: str = "MODEL", **facts: Any) -> dict[str, Any]:
    return {
        "step_index": 0,
        "source": source,
        "type": kind,
        "status": "DONE",
        "created_at": "2026-06-26T21:16:16Z",
    } | facts


def asked(text: str) -> dict[str, Any]:
    return step("USER_INPUT", "USER_EXPLICIT", content=text)


def test_tools_that_ran_are_the_results_of_the_calls_in_their_order() -> None:
    calls = [
        {"name": "list_dir", "args": {"DirectoryPath": '"/home/dev/shop"'}},
        {"name": "run_command", "args": {"CommandLine": "ls"}},
    ]
    transcript = read_lines(
        asked("go <USER_SETTINGS_CHANGE>The user changed setting `Model Selection` from None to Some Model (Low).</X>"),
        step("PLANNER_RESPONSE", thinking="hm", content="I look.", tool_calls=calls),
        step("LIST_DIRECTORY", content="a.py"),
        step("RUN_COMMAND", content="a.py\n"),
        step("PLANNER_RESPONSE", content="Done."),
    )
    _, answer, results, done = messages_of(transcript)
    used = [(block.id, block.input) for block in answer.content if isinstance(block, ToolUseBlock)]
    assert used == [("call1", {"DirectoryPath": "/home/dev/shop"}), ("call2", {"CommandLine": "ls"})]
    assert [block.tool_use_id for block in results.content if isinstance(block, ToolResultBlock)] == ["call1", "call2"]
    assert (done.text, transcript.model) == ("Done.", "Some Model (Low)")


def test_a_tool_that_ran_without_a_call_is_one() -> None:
    transcript = read_lines(asked("go"), step("PLANNER_RESPONSE", thinking="hm"), step("VIEW_FILE", content="text"))
    answer = messages_of(transcript)[1]
    assert [block.name for block in answer.content if isinstance(block, ToolUseBlock)] == ["view_file"]


def test_a_checkpoint_is_a_compaction() -> None:
    transcript = read_lines(
        asked("one"),
        step("PLANNER_RESPONSE", content="First."),
        step("CHECKPOINT", "SYSTEM", content="The story."),
        step("PLANNER_RESPONSE", content="Second."),
    )
    view = project(transcript.events)
    texts = [message.compaction.summary if message.compaction else message.text for message in view]
    assert texts == ["The story.", "Second."]


def test_what_the_file_cuts_and_what_is_new_is_told() -> None:
    transcript = read_lines(
        asked("one"),
        step("CONVERSATION_HISTORY", "SYSTEM"),
        step("PLANNER_RESPONSE", content="First", truncated_fields=["content"]),
        step("LEVITATION", "SYSTEM"),
    )
    assert texts_of(messages_of(transcript)) == ["user: one", "assistant: First"]
    told = [(part.line, part.expected) for part in transcript.skipped]
    assert told == [(2, True), (3, True), (4, False)]
