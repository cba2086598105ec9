from typing import Any

import pytest

from support.foreign import ids_of, messages_of, read_lines, texts_of, view_of
from support.session_log import aside, boundary, call, line, result, say, summary
from ullage.model.blocks import ImageBlock, TextBlock, ToolResultBlock
from ullage.model.edits import CompactionCause, CompactionEdit, EditTrigger
from ullage.model.events import ContextEdited, EditReverted


def test_a_compaction_covers_all_messages_before_it() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("answer")]),
        boundary("c1", "a1", trigger="manual", preTokens=142431),
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
    transcript = read_lines(
        line("user", "u1", None, "one"),
        boundary("c1", "u1"),
        summary("c1s", "c1", "First summary."),
        line("user", "u2", "c1s", "two"),
        line("assistant", "a2", "u2", [say("answer")]),
        boundary("c2", "a2"),
        summary("c2s", "c2", "Second summary."),
        line("user", "u3", "c2s", "three"),
    )
    marker, last = view_of(transcript)
    assert marker.compaction is not None
    assert (marker.compaction.summary, marker.compaction.messages_archived) == ("Second summary.", 3)
    assert last.text == "three"


def test_images_and_unknown_blocks_are_kept() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    transcript = read_lines(
        line("user", "u1", None, [{"type": "image", "source": source}, {"type": "hologram", "depth": 3}])
    )
    (message,) = messages_of(transcript)
    assert message.content[0] == ImageBlock(media_type="image/png", data="AAAA")
    assert "hologram" in message.text


def test_a_compaction_without_a_boundary_is_one() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("answer")], id="a1"),
        summary("s1", None, "The story so far."),
        line("assistant", "a2", "s1", [say("I go on.")], id="a2"),
    )
    assert ids_of(messages_of(transcript)) == ["u1", "a1", "a2"]
    assert ids_of(view_of(transcript)) == ["s1-marker", "a2"]


def test_messages_that_a_compaction_keeps_follow_the_summary_and_are_continued() -> None:
    segment = {"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "a2"}
    transcript = read_lines(
        line("user", "u1", None, "old"),
        line("assistant", "a1", "u1", [say("old answer")], id="a1"),
        line("user", "u2", "a1", "new"),
        line("assistant", "a2", "u2", [say("new answer")], id="a2"),
        boundary("b1", "a2", preservedSegment=segment),
        line("assistant", "a3", "a2", [say("The answer's line comes before the summary.")], id="a3"),
        summary("s1", "b1", "The story so far."),
        line("user", "u4", "a3", "next"),
    )
    assert ids_of(view_of(transcript)) == ["s1-marker", "u2", "a2", "a3", "u4"]


def test_messages_that_are_kept_before_the_summary_stay_before_it() -> None:
    segment = {"headUuid": "u1", "anchorUuid": "b1", "tailUuid": "a1"}
    transcript = read_lines(
        line("user", "u1", None, "old"),
        line("assistant", "a1", "u1", [say("old answer")], id="a1"),
        line("user", "u2", "a1", "new"),
        boundary("b1", "u2", preservedSegment=segment),
        summary("s1", "b1", "What came after."),
        line("user", "u3", "s1", "next"),
    )
    assert ids_of(view_of(transcript)) == ["u1", "a1", "s1-marker", "u3"]


def test_a_branch_from_before_a_compaction_takes_the_compaction_back() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("answer")], id="a1"),
        boundary("b1", "a1"),
        summary("s1", "b1", "The story so far."),
        line("user", "u2", "s1", "after the summary"),
        line("user", "u3", "a1", "instead of the summary"),
    )
    assert ids_of(view_of(transcript)) == ["u1", "a1", "u3"]
    assert "u2" in ids_of(messages_of(transcript))


def test_a_fork_of_a_compacted_session_has_the_kept_messages_after_the_summary() -> None:
    segment = {"headUuid": "u1", "anchorUuid": "s1", "tailUuid": "a1"}
    transcript = read_lines(
        boundary("b1", "a1", preservedSegment=segment, preservedMessages={"uuids": ["u1", "a1"]}),
        summary("s1", "b1", "The story so far."),
        line("user", "u1", "s1", "kept"),
        line("assistant", "a1", "u1", [say("kept answer")], id="a1"),
        line("user", "u2", "a1", "next"),
    )
    assert ids_of(view_of(transcript)) == ["s1-marker", "u1", "a1", "u2"]


def test_a_kept_message_that_is_not_on_the_last_branch_takes_nothing_else_away() -> None:
    segment = {"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "x1"}
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("user", "x1", "u1", "left by a rewind"),
        line("user", "u2", "u1", "kept"),
        boundary("b1", "x1", preservedSegment=segment, preservedMessages={"uuids": ["u2", "x1"]}),
        summary("s1", "b1", "The story so far."),
        line("user", "u3", "u2", "next"),
    )
    assert ids_of(view_of(transcript)) == ["s1-marker", "u2", "u3"]


def test_a_boundary_without_a_summary_changes_nothing() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        boundary("b1", "u1"),
        line("assistant", "a1", "u1", [say("answer")], id="a1"),
        line("user", "u2", "a1", "next"),
    )
    assert ids_of(view_of(transcript)) == ["u1", "a1", "u2"]


def test_tool_results_that_were_cleared_are_cleared_in_the_context_and_kept_in_the_transcript() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="a1"),
        line("assistant", "a2", "a1", [call("t2")], id="a1"),
        line("user", "r1", "a1", [result("t1")]),
        line("user", "r2", "a2", [result("t2")]),
        aside(
            "system",
            "m1",
            "r2",
            subtype="microcompact_boundary",
            microcompactMetadata={"compactedToolIds": ["t2", "unknown"]},
        ),
        line("user", "u2", "m1", "next"),
    )
    (results,) = [message for message in view_of(transcript) if message.id == "r1"]
    contents = [block.content for block in results.content if isinstance(block, ToolResultBlock)]
    assert contents == [(TextBlock(text="result of t1"),), (TextBlock(text="[cleared]"),)]
    assert "result of t2" in repr(messages_of(transcript))
    assert all(skipped.expected for skipped in transcript.skipped)


FIRST_COMPACTION = (
    line("user", "u1", None, "question"),
    line("assistant", "a1", "u1", [say("answer")]),
    boundary("c1", "a1", trigger="manual"),
    summary("s1", "c1", "The story so far."),
    line("user", "u2", "s1", "on", timestamp="2026-01-02T04:00:00Z"),
    line("assistant", "a2", "u2", [say("further")]),
)


@pytest.mark.parametrize(
    "again",
    [
        [aside("system", "h1", "a1", subtype="stop_hook_summary"), boundary("c2", "h1", trigger="auto")],
        [boundary("c2", "a1", trigger="auto")],
        [
            boundary(
                "c2", "a1", trigger="auto", preservedSegment={"headUuid": "u1", "anchorUuid": "s2", "tailUuid": "a1"}
            )
        ],
    ],
    ids=["a line after the copies", "the boundary after the copies", "the copies are kept"],
)
def test_lines_that_a_second_compaction_writes_again_take_nothing_back(again: list[dict[str, Any]]) -> None:
    last = line("user", "u3", "s2", "last", timestamp="2026-01-02T05:00:00Z")
    transcript = read_lines(
        *FIRST_COMPACTION, *FIRST_COMPACTION[:2], *again, summary("s2", "c2", "The story goes on."), last
    )
    edits = [event.edit for event in transcript.events if isinstance(event, ContextEdited)]
    assert [type(edit) for edit in edits] == [CompactionEdit, CompactionEdit]
    assert not any(isinstance(event, EditReverted) for event in transcript.events)
    # No request was refused: the line that was written again is not the last one of the conversation.
    assert isinstance(edits[1], CompactionEdit)
    assert edits[1].cause is not CompactionCause.OVERFLOW
    assert {"s2-marker", "u3"} <= set(ids_of(view_of(transcript)))


def test_a_branch_from_before_a_compaction_takes_it_back_although_lines_were_written_again_earlier() -> None:
    transcript = read_lines(
        *FIRST_COMPACTION,
        *FIRST_COMPACTION[:2],
        line("user", "u3", "a2", "after", timestamp="2026-01-02T05:00:00Z"),
        line("user", "u4", "a1", "instead", timestamp="2026-01-02T06:00:00Z"),
    )
    assert ids_of(view_of(transcript)) == ["u1", "msg_a1", "u4"]
