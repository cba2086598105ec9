from typing import Any

import pytest

from support.foreign import messages_of, read_lines, reports_of, texts_of
from ullage.model.blocks import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import ContextEdited, ModelChanged, Record
from ullage.transcript.fold import Transcript


def line(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("id", f"msg_{uuid}"), "model": more.pop("model", "claude-opus-4-5")}
        message |= {"usage": more.pop("usage", {"input_tokens": 1, "output_tokens": 1})}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "message": message,
    } | more


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}}


def result(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": f"result of {name}"}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_lines_of_one_answer_become_one_message_followed_by_its_results() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("I look.")], id="msg"),
        line("assistant", "a2", "a1", [call("t1")], id="msg"),
        line("user", "r1", "a2", [result("t1")]),
        line("assistant", "a3", "a2", [call("t2")], id="msg"),
        line("user", "r2", "a3", [result("t2")]),
        line("assistant", "a4", "r2", [say("Done.")]),
    )
    user, answer, results, last = messages_of(transcript)
    assert user.id == "u1"
    assert answer.id == "msg"
    assert [type(block) for block in answer.content] == [TextBlock, ToolUseBlock, ToolUseBlock]
    assert [block.tool_use_id for block in results.content if isinstance(block, ToolResultBlock)] == ["t1", "t2"]
    assert last.text == "Done."
    assert user.timestamp == 1767323045678


def test_an_answers_account_is_taken_once_from_its_last_line() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("a")], id="msg", usage={"input_tokens": 3, "output_tokens": 1}),
        line(
            "assistant",
            "a2",
            "a1",
            [say("b")],
            id="msg",
            usage={"input_tokens": 3, "output_tokens": 90, "cache_read_input_tokens": 7},
        ),
    )
    (report,) = reports_of(transcript)
    assert report.message_id == "msg"
    assert (report.usage.prompt, report.usage.output_tokens) == (10, 90)


def test_a_branch_left_by_a_rewind_is_skipped_and_named() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("first answer")]),
        line("user", "u2", "a1", "wrong turn"),
        line("assistant", "a2", "u2", [say("wrong answer")]),
        line("user", "u3", "a1", "right turn"),
    )
    assert texts_of(messages_of(transcript)) == ["user: question", "assistant: first answer", "user: right turn"]
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(3, True), (4, True)]


def test_the_copy_of_a_resumed_session_does_not_double_messages() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="msg"),
        line("assistant", "a2", "a1", [call("t2")], id="msg"),
        line("user", "r1", "a1", [result("t1")]),
        line("user", "r2", "a2", [result("t2")]),
        line("user", "v1", None, "question"),
        line("assistant", "b2", "v1", [call("t2")], id="msg"),
        line("user", "q2", "b2", [result("t2")]),
        line("user", "v3", "q2", "next"),
    )
    messages = messages_of(transcript)
    assert [block.id for block in messages[1].content if isinstance(block, ToolUseBlock)] == ["t1", "t2"]
    results = [block.tool_use_id for block in messages[2].content if isinstance(block, ToolResultBlock)]
    assert sorted(results) == ["t1", "t2"]
    assert len(messages) == 4


def test_a_compaction_covers_all_messages_before_it() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "c1",
        "parentUuid": None,
        "logicalParentUuid": "a1",
        "compactMetadata": {"trigger": "manual", "preTokens": 142431},
    }
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("answer")]),
        boundary,
        line("user", "u2", "c1", "The story so far.", isCompactSummary=True),
        line("user", "u3", "u2", "go on"),
    )
    (edited,) = [event for event in transcript.events if isinstance(event, ContextEdited)]
    edit = edited.edit
    assert isinstance(edit, CompactionEdit)
    assert (edit.start, edit.end, edit.trigger) == (0, 2, EditTrigger.MANUAL)
    marker = edit.marker.compaction
    assert marker is not None
    assert (marker.summary, marker.context_size_before) == ("The story so far.", 142431)
    assert (marker.messages_archived, marker.compaction_number) == (2, 1)
    assert texts_of(messages_of(transcript)) == ["user: question", "assistant: answer", "user: go on"]


def test_a_second_compaction_replaces_the_first() -> None:
    def compaction(uuid: str, before: str, summary: str) -> list[dict[str, Any]]:
        boundary = {"type": "system", "subtype": "compact_boundary", "uuid": uuid, "logicalParentUuid": before}
        return [boundary, line("user", f"{uuid}s", uuid, summary, isCompactSummary=True)]

    transcript = read_lines(
        line("user", "u1", None, "one"),
        *compaction("c1", "u1", "First summary."),
        line("user", "u2", "c1s", "two"),
        line("assistant", "a2", "u2", [say("answer")]),
        *compaction("c2", "a2", "Second summary."),
        line("user", "u3", "c2s", "three"),
    )
    folded = Transcript()
    for position, event in enumerate(transcript.events):
        folded.apply(Record(position=position, timestamp=0, event=event))
    marker, last = folded.view
    assert marker.compaction is not None
    assert (marker.compaction.summary, marker.compaction.messages_archived) == ("Second summary.", 3)
    assert last.text == "three"


def test_own_lines_comments_and_sidechains_are_expected_and_torn_lines_are_not() -> None:
    transcript = read_lines(
        "// a comment",
        {"type": "file-history-snapshot"},
        {"type": "progress", "uuid": "p", "parentUuid": None},
        line("user", "u1", "p", "question"),
        line("assistant", "x1", "u1", [say("sub-agent")], isSidechain=True),
        {"type": "summary", "summary": "A title", "leafUuid": "u1"},
        {"type": "never heard of"},
        '{"type": "user", "mess',
    )
    assert texts_of(messages_of(transcript)) == ["user: question"]
    assert transcript.title == "A title"
    unexplained = [skipped.line for skipped in transcript.skipped if not skipped.expected]
    assert unexplained == [7, 8]
    assert [skipped.line for skipped in transcript.skipped if skipped.expected] == [1, 2, 3, 5, 6]


def test_errors_of_the_api_are_left_out_and_a_synthetic_model_is_no_model() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("API Error")], model="<synthetic>", isApiErrorMessage=True),
        line("assistant", "a2", "a1", [say("No response requested.")], model="<synthetic>", usage={}),
        line("assistant", "a3", "a2", [say("answer")], model="claude-haiku-4-5"),
        line("assistant", "a4", "a3", [say("answer")], model="claude-opus-4-5"),
    )
    assert [message.text for message in messages_of(transcript)][1:3] == ["No response requested.", "answer"]
    assert transcript.model == "claude-haiku-4-5"
    assert [event.model for event in transcript.events if isinstance(event, ModelChanged)] == ["claude-opus-4-5"]


def test_a_lost_parent_does_not_cut_the_conversation() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("answer")]),
        line("user", "u2", "not there", "next"),
    )
    assert len(messages_of(transcript)) == 3


def test_images_and_unknown_blocks_are_kept() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    transcript = read_lines(
        line("user", "u1", None, [{"type": "image", "source": source}, {"type": "hologram", "depth": 3}])
    )
    (message,) = messages_of(transcript)
    assert message.content[0] == ImageBlock(media_type="image/png", data="AAAA")
    assert "hologram" in message.text


def test_a_log_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match=r"test\.jsonl: looks like claude-code"):
        read_lines({"type": "summary", "summary": "t"}, "{", format_name="claude-code")
