from typing import Any

from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.inserted import is_by_agent
from ullage.agents.pi.session_log import FORMAT
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.said import typed_text
from ullage.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import ModelChanged, ToolsDeclared
from ullage.model.message import Role, ToolDefinition
from ullage.transcript.fold import project

TIME = "2026-05-01T10:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": "/home/ann/barrels"}


def entry(kind: str, entry_id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": TIME} | fields


def said(entry_id: str, parent: str | None, text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]} | fields
    return entry("message", entry_id, parent, message=message)


def answered(entry_id: str, parent: str, text: str, prompt: int = 100, **fields: Any) -> dict[str, Any]:
    usage = {"input": prompt, "output": 7, "cacheRead": 50, "cacheWrite": 3, "totalTokens": prompt + 60}
    return said(entry_id, parent, text, "assistant", usage=usage, model="m1", stopReason="stop", **fields)


def view_of(transcript: ImportedTranscript) -> list[str]:
    return [message.id for message in project(transcript.events)]


def test_a_turn_has_thinking_calls_results_and_the_usage_of_each_request() -> None:
    parts = [
        {"type": "thinking", "thinking": "which?", "thinkingSignature": "sig"},
        {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.md"}},
    ]
    transcript = read_lines(
        HEADER,
        entry("model_change", "c1", None, provider="p", modelId="m0"),
        said("u1", "c1", "read a.md"),
        answered("a1", "u1", "") | {"message": {**answered("a1", "u1", "")["message"], "content": parts}},
        said("r1", "a1", "no such file", "toolResult", toolCallId="t1", toolName="read", isError=True),
        entry("session_info", "i1", "r1", name="Reading"),
        answered("a2", "i1", "It is not there.", prompt=200),
    )
    _, call, result, last = messages_of(transcript)
    assert call.content == (
        ThinkingBlock(thinking="which?", signature="sig"),
        ToolUseBlock(id="t1", name="read", input={"path": "a.md"}),
    )
    assert isinstance(result.content[0], ToolResultBlock)
    assert (result.content[0].tool_use_id, result.content[0].is_error) == ("t1", True)
    assert last.id == "a2"
    assert [(report.message_id, report.usage.total) for report in reports_of(transcript)] == [("a1", 160), ("a2", 260)]
    assert (transcript.cwd, transcript.session_id, transcript.title) == ("/home/ann/barrels", "s-1", "Reading")
    assert transcript.model == "m0"
    assert [event.model for event in transcript.events if isinstance(event, ModelChanged)] == ["m1"]
    assert all(skipped.expected for skipped in transcript.skipped)


BRANCHED = (
    HEADER,
    said("u1", None, "first"),
    answered("a1", "u1", "one"),
    said("u2", "a1", "left"),
    answered("a2", "u2", "two"),
    entry("branch_summary", "b1", "a1", fromId="a2", summary="Tried left."),
    said("u3", "b1", "right"),
    entry("label", "l1", "u3", targetId="u1", label="start"),
    answered("a3", "l1", "three"),
)


def test_the_context_is_the_branch_of_the_newest_entry_and_other_branches_are_kept() -> None:
    transcript = read_lines(*BRANCHED)
    assert view_of(transcript) == ["u1", "a1", "b1", "u3", "a3"]
    assert "assistant: two" in texts_of(messages_of(transcript))
    assert view_of(read_lines(*BRANCHED, said("u4", "a2", "left again"))) == ["u1", "a1", "u2", "a2", "u4"]
    assert view_of(read_lines(*BRANCHED, said("u4", None, "anew"))) == ["u4"]


COMPACTED = (
    *BRANCHED,
    entry("compaction", "k1", "a3", summary="All so far.", firstKeptEntryId="u3", tokensBefore=900),
    said("u5", "k1", "after"),
)


def test_a_compaction_keeps_the_entries_of_its_branch_from_the_first_kept_one_on() -> None:
    transcript = read_lines(*COMPACTED)
    assert view_of(transcript) == ["k1-marker", "u3", "a3", "u5"]
    marker = project(transcript.events)[0].compaction
    assert marker is not None
    assert (marker.summary, marker.context_size_before) == ("All so far.", 900)
    before = read_lines(*COMPACTED, said("u6", "a3", "as it was"))
    assert view_of(before) == ["u1", "a1", "b1", "u3", "a3", "u6"]


EDITED = (
    HEADER,
    said("u1", None, "first"),
    answered("a1", "u1", "one"),
    said("r1", "a1", "a long result", "toolResult", toolCallId="t1"),
    entry(
        "context_edit", "e1", "r1", targetId="r1", replacement={"content": [{"type": "text", "text": "shown shorter"}]}
    ),
    entry("context_edit", "e2", "e1", targetId="a1", replacement=None),
    said("u2", "e2", "second"),
)


def in_context(*lines: dict[str, Any]) -> list[str]:
    """Returns the texts of the context's messages, those of results after `result: `."""
    shown: list[str] = []
    for message in project(read_lines(*lines).events):
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        parts = [part.text for block in results for part in block.content if isinstance(part, TextBlock)]
        shown.append(f"result: {parts[0]}" if parts else f"{message.role.value}: {message.text}")
    return shown


def test_what_is_sent_in_place_of_an_entry_counts_from_the_edit_on_and_not_before_it() -> None:
    left_out = "user: [pi left a message out of the context here.]"
    assert in_context(*EDITED) == ["user: first", left_out, "result: shown shorter", "user: second"]
    result = project(read_lines(*EDITED).events)[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.tool_use_id == "t1"
    again = entry("context_edit", "e3", "u2", targetId="r1", replacement={"content": "as it was"})
    assert in_context(*EDITED, again)[2] == "result: as it was"
    back = said("u3", "e1", "back after the first edit")
    assert in_context(*EDITED, again, back)[1:3] == ["assistant: one", "result: shown shorter"]
    before = said("u4", "r1", "back before it")
    assert in_context(*EDITED, again, back, before)[1:3] == ["assistant: one", "result: a long result"]
    forth = said("u5", "e3", "and where it was")
    assert in_context(*EDITED, again, back, before, forth) == [
        *("user: first", left_out, "result: as it was", "user: second"),
        "user: and where it was",
    ]


def test_a_compaction_keeps_what_is_sent_in_place_of_an_entry() -> None:
    compacted = entry("compaction", "k1", "u2", summary="So far.", firstKeptEntryId="r1", tokensBefore=900)
    assert in_context(*EDITED, compacted)[1:] == ["result: shown shorter", "user: second"]
    later = entry("context_edit", "e3", "k1", targetId="r1", replacement={"content": "shorter still"})
    assert in_context(*EDITED, compacted, later)[1:] == ["result: shorter still", "user: second"]
    nothing = compacted | {"firstKeptEntryId": "k1"}
    assert in_context(*EDITED, nothing)[1:] == []


def test_an_edit_of_an_entry_that_is_no_message_changes_nothing() -> None:
    unknown = entry("context_edit", "e3", "u2", targetId="gone", replacement=None)
    transcript = read_lines(*EDITED, unknown)
    assert in_context(*EDITED, unknown) == in_context(*EDITED)
    assert transcript.skipped[-1].reason == "context_edit of an entry without a message"


def test_a_system_message_declares_the_tools() -> None:
    tool = {"name": "read", "description": "Reads a file.", "parameters": {"type": "object"}}
    transcript = read_lines(
        HEADER,
        said(
            "s1", None, "", "system", sections={"preamble": "You are pi."}, toolsAdded=[tool, tool | {"name": "edit"}]
        ),
        said("u1", "s1", "hi"),
        said("s2", "u1", "", "system", sections={"preamble": None}, toolsRemoved=[{"name": "edit"}]),
    )
    declared = [event.tools for event in transcript.events if isinstance(event, ToolsDeclared)]
    assert [[one.name for one in tools] for tools in declared] == [["read", "edit"], ["read"]]
    assert declared[-1] == (ToolDefinition(name="read", description="Reads a file.", input_schema={"type": "object"}),)


def test_a_request_that_is_no_answer_reports_nothing() -> None:
    warmed = entry("usage", "w1", "u1", model="m1", usage={"input": 0, "cacheRead": 50_000})
    transcript = read_lines(HEADER, said("u1", None, "hi"), warmed, answered("a1", "w1", "hello"))
    assert [report.message_id for report in reports_of(transcript)] == ["a1"]
    assert all(skipped.expected for skipped in transcript.skipped)


def test_entries_of_the_first_version_follow_each_other() -> None:
    old = [{key: value for key, value in line.items() if key not in ("id", "parentId")} for line in COMPACTED[1:]]
    old[-2] = {"type": "compaction", "timestamp": TIME, "summary": "All.", "firstKeptEntryIndex": 8, "tokensBefore": 5}
    header = HEADER | {"modelId": "m1", "branchedFrom": "/home/ann/.pi/agent/sessions/--x--/2026-01-01T00_s-0.jsonl"}
    transcript = read_lines(header, *old)
    texts = [message.text for message in project(transcript.events)]
    assert texts[1:] == ["three", "after"]
    assert transcript.parent == "s-0"


def test_a_command_that_the_user_keeps_to_themselves_is_archived_and_not_in_the_context() -> None:
    command = {"role": "bashExecution", "command": "make", "output": "bang\n", "exitCode": 2}
    secret = command | {"excludeFromContext": True, "command": "env"}
    transcript = read_lines(
        HEADER,
        said("u1", None, "hi"),
        entry("message", "x1", "u1", message=command),
        entry("message", "x2", "x1", message=secret),
        said("u2", "x2", "so?"),
    )
    assert view_of(transcript) == ["u1", "x1", "u2"]
    assert "user: Ran `make`\n```\nbang\n\n```\n\nCommand exited with code 2" in texts_of(messages_of(transcript))
    assert "user: Ran `env`\n```\nbang\n\n```\n\nCommand exited with code 2" in texts_of(messages_of(transcript))


def test_an_aborted_answer_has_no_usage_and_is_left_out_if_it_is_empty() -> None:
    stopped = answered("a1", "u1", "Well,") | {
        "message": answered("a1", "u1", "Well,")["message"] | {"stopReason": "aborted"}
    }
    empty = said("a2", "a1", "", "assistant", errorMessage="Overloaded")
    transcript = read_lines(HEADER, said("u1", None, "hi"), stopped, empty, said("u2", "a2", "again"))
    assert view_of(transcript) == ["u1", "a1", "u2"]
    assert reports_of(transcript) == []
    assert [s.reason for s in transcript.skipped if s.line == 4] == ["answer without content: Overloaded"]


def test_what_an_extension_adds_is_read_and_an_unknown_entry_is_named() -> None:
    transcript = read_lines(
        HEADER,
        said("u1", None, "hi"),
        entry("custom_message", "x1", "u1", customType="clock", content="It is noon.", display=False),
        entry("poll", "x2", "x1"),
        said("u2", "x2", "hm", "oracle"),
    )
    assert texts_of(messages_of(transcript)) == ["user: hi", "user: It is noon."]
    assert [s.reason for s in transcript.skipped if not s.expected] == [
        "poll entry",
        "message of unknown role 'oracle'",
    ]


def test_what_the_user_did_not_type_is_not_the_users_words() -> None:
    command = {"role": "bashExecution", "command": "make", "output": "bang", "exitCode": 0}
    transcript = read_lines(
        *BRANCHED,
        entry("custom_message", "x1", "a3", customType="clock", content="It is noon.", display=False),
        entry("message", "x2", "x1", message={"role": "custom", "customType": "todo", "content": "Two are left."}),
        entry("message", "x3", "x2", message=command),
        entry("message", "x4", "x3", message={"role": "compactionSummary", "summary": "All so far."}),
        said("u9", "x4", "Go on with the hoops."),
    )
    messages = [message for message in project(transcript.events) if message.role is Role.USER]
    assert [message.id for message in messages if is_by_agent(message)] == ["b1", "x1", "x2", "x3", "x4"]
    assert [text for message in messages if (text := typed_text(message))] == [
        "first",
        "right",
        "Go on with the hoops.",
    ]


def test_a_session_reads_alike_in_every_two_pieces() -> None:
    document = parse_document(to_lines(*COMPACTED, said("u6", "a2", "left")), "s.jsonl")
    expect_every_split_to_read_alike(FORMAT, document)
    expect_a_growing_log_to_only_add_records(FORMAT, document)


def test_calls_of_an_answer_that_was_cut_off_are_kept_and_no_part_of_the_context() -> None:
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.md"}}

    def cut_off(entry_id: str, parent: str, *parts: dict[str, Any]) -> dict[str, Any]:
        message = answered(entry_id, parent, "")["message"]
        return entry("message", entry_id, parent, message=message | {"content": list(parts), "stopReason": "error"})

    transcript = read_lines(
        HEADER,
        said("u1", None, "read a.md"),
        cut_off("a1", "u1", {"type": "text", "text": "I read it."}, call),
        said("u2", "a1", "again"),
        cut_off("a2", "u2", call | {"id": "t2"}),
        said("u3", "a2", "once more"),
    )
    assert [message.id for message in messages_of(transcript)] == ["u1", "a1", "a1-calls", "u2", "a2", "u3"]
    assert view_of(transcript) == ["u1", "a1", "u2", "u3"]


def test_the_system_prompt_of_a_later_version_is_one_text_of_its_sections() -> None:
    sections = {"preamble": "You are a coding assistant.", "removed": None, "cwd": "<cwd>\n/home/ann\n</cwd>"}
    system = {"role": "system", "content": "", "sections": sections, "toolsAdded": [{"name": "read"}]}
    read = read_lines(HEADER, entry("message", "a", None, message=system), said("b", "a", "Which port is it?"))
    assert texts_of(messages_of(read)) == [
        "system: You are a coding assistant.\n\n<cwd>\n/home/ann\n</cwd>",
        "user: Which port is it?",
    ]
