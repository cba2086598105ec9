import json
from typing import Any

import pytest

from support.foreign import ids_of, messages_of, read_lines, reports_of, texts_of, to_lines, view_of
from support.session_log import aside, call, line, result, say
from ullage.agents.claude_code.log import Reader
from ullage.agents.transcripts import detect
from ullage.formats.parsing import Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import MessageAppended, ModelChanged


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


def test_a_branch_left_by_a_rewind_is_archived() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [say("first answer")]),
        line("user", "u2", "a1", "wrong turn"),
        line("assistant", "a2", "u2", [say("wrong answer")]),
        line("user", "u3", "a1", "right turn"),
    )
    assert texts_of(view_of(transcript)) == ["user: question", "assistant: first answer", "user: right turn"]
    assert texts_of(messages_of(transcript))[2:4] == ["user: wrong turn", "assistant: wrong answer"]
    assert transcript.skipped == ()


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


def test_a_log_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match=r"test\.jsonl: looks like claude-code"):
        read_lines({"type": "summary", "summary": "t"}, "{", format_name="claude-code")


def test_a_line_written_before_its_parent_is_read_after_it() -> None:
    transcript = read_lines(
        line("assistant", "a1", "u1", [say("answer")], id="a1"),
        line("user", "u1", None, "question"),
        line("user", "u2", "a1", "next"),
    )
    assert ids_of(messages_of(transcript)) == ["u1", "a1", "u2"]


def test_a_repeated_line_is_read_once() -> None:
    once = line("user", "u1", None, "question")
    transcript = read_lines(once, once, line("user", "u2", "u1", "next"))
    assert ids_of(messages_of(transcript)) == ["u1", "u2"]
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(2, True)]


def test_a_complete_answer_is_read_as_soon_as_its_results_are_there() -> None:
    builder = TranscriptBuilder("claude-code", "live")
    reader = Reader(builder)
    for number, value in enumerate(
        [
            line("user", "u1", None, "question"),
            line("assistant", "a1", "u1", [call("t1")], id="a1", stop_reason="tool_use"),
            line("user", "r1", "a1", [result("t1")]),
        ]
    ):
        reader.take(Line(number=number, value=value))
    kinds = [type(event).__name__ for event in builder.drain()]
    assert kinds == ["ConversationImported", "MessageAppended", "MessageAppended", "UsageReported", "MessageAppended"]


def test_a_line_that_comes_after_its_answer_was_read_is_not_lost() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="msg", stop_reason="tool_use"),
        line("user", "r1", "a1", [result("t1")]),
        line("assistant", "a2", "a1", [say("more")], id="msg", stop_reason="tool_use"),
    )
    assert [message.text for message in messages_of(transcript)][-1] == "more"
    assert len(reports_of(transcript)) == 1


def test_two_objects_on_one_line_are_both_read() -> None:
    both = "".join(json.dumps(value) for value in (line("user", "u1", None, "one {"), line("user", "u2", "u1", "two")))
    transcript = read_lines(both, line("user", "u3", "u2", "three"))
    assert ids_of(messages_of(transcript)) == ["u1", "u2", "u3"]
    assert transcript.skipped == ()


def test_a_log_of_another_agent_with_the_same_tree_is_not_taken() -> None:
    value = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}}
    assert detect(to_lines(value, value)) != "claude-code"


def test_a_line_whose_parent_is_missing_does_not_wait_for_the_end_of_the_file() -> None:
    builder = TranscriptBuilder("claude-code", "live")
    reader = Reader(builder)
    reader.take(Line(number=1, value=line("user", "u1", "not there", "question")))
    for number in range(2, 60):
        reader.take(Line(number=number, value={"type": "mode", "mode": "normal"}))
    assert ids_of([event.message for event in builder.events if isinstance(event, MessageAppended)]) == ["u1"]


def test_a_parent_that_comes_long_after_its_child_is_read_as_well() -> None:
    transcript = read_lines(
        line("user", "u2", "u1", "the child"),
        *({"type": "mode", "mode": "normal"} for _ in range(60)),
        line("user", "u1", None, "the parent"),
        line("user", "u3", "u1", "next"),
    )
    assert sorted(ids_of(messages_of(transcript))) == ["u1", "u2", "u3"]


def test_kinds_of_lines_that_are_not_known_are_told_and_do_not_cut_the_conversation() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        aside("system", "x1", "u1", subtype="weather"),
        aside("tide", "x2", "x1"),
        line("user", "u2", "x2", "next"),
    )
    assert ids_of(view_of(transcript)) == ["u1", "u2"]
    assert [(skipped.reason, skipped.expected) for skipped in transcript.skipped] == [
        ("unknown kind of line: system line (weather)", False),
        ("unknown kind of line: tide line", False),
    ]


def spent(prompt: int, output: int = 5) -> dict[str, int]:
    return {"input_tokens": prompt, "output_tokens": output}


def test_answers_to_other_prompts_are_told_apart_although_a_gateway_gives_all_one_id() -> None:
    for prompts in ((1_000, 2_000, 3_000), (100, 100, 100)):
        lines: list[object] = []
        for number, prompt in enumerate(prompts):
            lines.append(line("user", f"u{number}", f"a{number - 1}" if number else None, f"question {number}"))
            said = line("assistant", f"a{number}", f"u{number}", [say("Yes.")], id="msg", usage=spent(prompt))
            said["timestamp"] = f"2026-01-02T03:0{number}:00.000Z"
            lines.append(said)
        transcript = read_lines(*lines)
        assert [report.usage.prompt for report in reports_of(transcript)] == list(prompts)
        assert len(messages_of(transcript)) == 6


def test_answers_between_results_are_told_apart_by_their_input_although_a_gateway_gives_all_one_id() -> None:
    lines: list[object] = [line("user", "u", None, "question")]
    before = "u"
    for number in range(4):
        said: dict[str, Any] = {"id": "msg", "usage": spent(1_000 * (number + 1)), "stop_reason": "tool_use"}
        lines.append(line("assistant", f"t{number}", before, [say(f"Look {number}.")], **said))
        lines.append(line("assistant", f"a{number}", f"t{number}", [call(f"c{number}")], **said))
        lines.append(line("user", f"r{number}", f"a{number}", [result(f"c{number}")]))
        before = f"r{number}"
    transcript = read_lines(*lines)
    assert [report.usage.prompt for report in reports_of(transcript)] == [1_000, 2_000, 3_000, 4_000]
    assert len(messages_of(transcript)) == 9


def test_an_answer_copied_by_a_fork_is_one_answer_without_a_requests_id_too() -> None:
    first = line("assistant", "a1", "u1", [say("Yes.")], id="msg", usage=spent(1_000))
    copied = dict(first, uuid="b1", parentUuid="u2")
    transcript = read_lines(line("user", "u1", None, "question"), first, line("user", "u2", "a1", "and now?"), copied)
    assert [report.usage.prompt for report in reports_of(transcript)] == [1_000]


def test_an_answer_in_passes_fills_the_window_with_its_last_one_and_is_paid_for_in_all() -> None:
    passes = [
        {"type": "message", "input_tokens": 9_000, "output_tokens": 10},
        {"type": "advisor_message", "model": "adviser", "input_tokens": 9_500, "output_tokens": 300},
        {"type": "message", "input_tokens": 9_400, "output_tokens": 20},
    ]
    usage = {"input_tokens": 18_400, "output_tokens": 30, "iterations": passes}
    transcript = read_lines(
        line("user", "u1", None, "question"), line("assistant", "a1", "u1", [say("Yes.")], id="msg", usage=usage)
    )
    (report,) = reports_of(transcript)
    assert (report.usage.prompt, report.usage.total) == (9_400, 9_420)
    assert [(one.model, one.usage.prompt) for one in report.passes] == [("", 9_000), ("adviser", 9_500), ("", 9_400)]
