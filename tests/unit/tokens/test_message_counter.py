"""The tokens that a message has besides its text, and the blocks they come from."""

import pytest

from ullage.model.marker import render_marker
from ullage.model.message import (
    ArtifactLedger,
    Block,
    CompactionBlock,
    FileAction,
    FileArtifact,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.usage import Breakdown
from ullage.tokens.counter import ApproximateCounter, TiktokenCounter
from ullage.tokens.families import family_of

GPT = TiktokenCounter(family_of("gpt-4o"))
CLAUDE = TiktokenCounter(family_of("claude-sonnet-4-5"))
TEXT = "The quick brown fox jumps over the lazy dog."
MARKER = CompactionBlock(
    compaction_number=1,
    timestamp=0,
    summary=TEXT,
    messages_archived=3,
    context_size_before=9,
    ledger=ArtifactLedger(files=(FileArtifact(path="a.py", action=FileAction.READ),)),
)


def message(*blocks: Block, role: Role = Role.USER) -> Message:
    return Message(id="m", role=role, content=blocks)


def test_an_openai_message_costs_its_text_three_tokens_and_its_role() -> None:
    assert GPT.count_message(message(TextBlock(text=TEXT))) == GPT.count(TEXT) + 4


def test_a_system_message_counts_as_system_prompt() -> None:
    parts = GPT.break_down(message(TextBlock(text=TEXT), role=Role.SYSTEM))
    assert parts == Breakdown(system_prompt=GPT.count(TEXT) + 4)


def test_tool_results_are_distinguished_from_the_text_next_to_them() -> None:
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT),))
    parts = GPT.break_down(message(result, TextBlock(text="go on")))
    assert parts == Breakdown(messages=GPT.count("go on") + 4, tool_results=GPT.count(TEXT) + 4)


def test_a_message_of_tool_results_alone_has_no_frame_of_its_own() -> None:
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT),))
    assert GPT.break_down(message(result, result)).messages == 0


def test_a_tool_call_counts_its_name_and_its_input() -> None:
    call = ToolUseBlock(id="t", name="read_file", input={"path": "a.py"})
    expected = GPT.count("read_file") + GPT.count('{"path":"a.py"}') + 3
    assert GPT.count_message(message(call, role=Role.ASSISTANT)) == expected + 4


def test_claude_sees_a_multiline_input_unescaped() -> None:
    text = 'line "one"\n' * 200
    call = message(ToolUseBlock(id="t", name="write", input={"text": text}), role=Role.ASSISTANT)
    assert CLAUDE.count_message(call) < CLAUDE.count(text) * 1.1
    assert GPT.count_message(call) > GPT.count(text) * 1.2


def test_what_the_memory_tool_returned_counts_as_memory() -> None:
    notes = message(ToolResultBlock(tool_use_id="t1", content=(TextBlock(text=TEXT),)))
    parts = GPT.break_down(notes, {"t1"})
    assert (parts.memory, parts.tool_results) == (GPT.count_message(notes), 0)
    assert GPT.break_down(notes, {"t2"}).memory == 0


@pytest.mark.parametrize(
    "uri", ["file:///p/CLAUDE.md", "file:///p/AGENTS.md", "MEMORY.md", "/memories/notes.txt", "/p/CLAUDE.local.md"]
)
def test_instruction_and_memory_files_count_as_memory(uri: str) -> None:
    parts = GPT.break_down(message(ResourceBlock(uri=uri, text=TEXT)))
    assert parts.memory == GPT.count(uri) + GPT.count(TEXT)


@pytest.mark.parametrize("uri", ["file:///p/main.py", "file:///p/NOTCLAUDE.md", "/p/memoriesx/a"])
def test_other_resources_count_as_messages(uri: str) -> None:
    assert GPT.break_down(message(ResourceBlock(uri=uri, text=TEXT))).memory == 0


def test_a_marker_counts_as_the_text_the_model_is_sent() -> None:
    parts = GPT.break_down(message(MARKER))
    assert parts.summary == GPT.count(render_marker(MARKER))


def test_thinking_counts_its_text_and_encrypted_reasoning_by_its_length() -> None:
    shown = GPT.count_message(message(ThinkingBlock(thinking=TEXT), role=Role.ASSISTANT))
    hidden = GPT.count_message(message(ThinkingBlock(thinking="", redacted="x" * 600), role=Role.ASSISTANT))
    assert (shown, hidden) == (GPT.count(TEXT) + 4, 104)


@pytest.mark.parametrize("counter", [GPT, CLAUDE, ApproximateCounter()], ids=lambda counter: counter.name)
def test_count_of_a_message_is_the_sum_of_its_parts(counter: TiktokenCounter | ApproximateCounter) -> None:
    image = ImageBlock(width=100, height=100)
    everything = message(
        TextBlock(text=TEXT),
        image,
        ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT), image, ResourceBlock(uri="a", text=TEXT))),
        ResourceBlock(uri="/memories/a", text=TEXT),
        MARKER,
    )
    parts = counter.break_down(everything)
    assert parts.total == counter.count_message(everything) == counter.count_messages([everything])
    assert min(parts.messages, parts.tool_results, parts.memory, parts.summary) > 0


def test_an_empty_message_still_has_its_frame() -> None:
    assert GPT.count_message(message()) == 4


def test_lone_surrogates_in_a_tool_call_are_counted() -> None:
    call = ToolUseBlock(id="t", name="write", input={"text": "\ud800"})
    assert GPT.count_message(message(call)) > 4
