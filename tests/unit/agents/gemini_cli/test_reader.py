from typing import Any

from support.foreign import messages_of, read_lines, read_value, reports_of, texts_of, to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.gemini_cli.conversations import FORMAT
from ullage.agents.transcripts import read
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.formats.transcripts.format import OpenReading, open_reading
from ullage.model.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import ContextEdited
from ullage.transcript.fold import project

HEADER = {"sessionId": "s-1", "projectHash": "aa", "startTime": "2026-05-01T10:00:00.000Z", "kind": "main"}
FOLDER = "<session_context>\n- **Workspace Directories:**\n  - /home/ann/barrels\n</session_context>"


def user(message_id: str, text: str) -> dict[str, Any]:
    return {"id": message_id, "timestamp": "2026-05-01T10:00:01.000Z", "type": "user", "content": [{"text": text}]}


def answer(message_id: str, text: str = "", prompt: int = 1_000, **more: Any) -> dict[str, Any]:
    tokens = {"input": prompt, "output": 20, "cached": 400, "thoughts": 5, "tool": 0, "total": prompt + 25}
    return user(message_id, "") | {"type": "gemini", "content": text, "tokens": tokens, "model": "gemini-3-pro"} | more


def called(call: str, output: str = "two files") -> dict[str, Any]:
    response = {"functionResponse": {"id": call, "name": "glob", "response": {"output": output}}}
    return {"id": call, "name": "glob", "args": {"pattern": "*"}, "result": [response], "status": "success"}


def response(message_id: str, call: str, output: str = "two files") -> dict[str, Any]:
    return user(message_id, "") | {"content": called(call, output)["result"]}


def repeated(message_id: str, text: str) -> dict[str, Any]:
    return user(message_id, text) | {"type": "gemini"}


def context(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-05-01T10:00:02.000Z"}}


def view_of(transcript: ImportedTranscript) -> list[str]:
    return [message.id for message in project(transcript.events)]


TURN = (
    user("u1", "list"),
    {"$set": {"lastUpdated": "2026-05-01T10:00:02.000Z"}},
    answer("g1"),
    answer("g1", toolCalls=[called("c1")]),
    response("r1", "c1", "two files <hook>mind the bung</hook>"),
    answer("g2", "Two.", prompt=1_100),
)


def test_a_turn_is_prompt_answer_results_and_answer_with_the_usage_of_each_request() -> None:
    transcript = read_lines(HEADER, context(user("u0", FOLDER)), *TURN)
    _, prompt, call, result, last = messages_of(transcript)
    assert (transcript.format, transcript.session_id, transcript.cwd) == ("gemini-cli", "s-1", "/home/ann/barrels")
    assert (prompt.text, prompt.timestamp) == ("list", 1777629601000)
    assert call.content == (ToolUseBlock(id="c1", name="glob", input={"pattern": "*"}),)
    assert isinstance(result.content[0], ToolResultBlock)
    assert "mind the bung" in str(result.content)
    assert last.text == "Two."
    reports = reports_of(transcript)
    assert [(report.message_id, report.usage.total) for report in reports] == [("g1", 1_025), ("g2", 1_125)]
    assert (reports[0].usage.cache_read_input_tokens, reports[0].usage.reasoning_tokens) == (400, 5)
    assert transcript.model == "gemini-3-pro"
    assert all(skipped.expected for skipped in transcript.skipped)


def test_results_that_only_the_answer_holds_are_a_message_of_their_own() -> None:
    thoughts = [{"subject": "Look", "description": "at the folder"}]
    failed = called("c2") | {"status": "error"}
    conversation = HEADER | {
        "summary": "Counting files",
        "messages": [
            user("u1", "list") | {"content": "list"},
            answer("g1", "I look.", thoughts=thoughts, toolCalls=[called("c1"), failed]),
            user("n1", "update!") | {"type": "info"},
            answer("g2", "Two."),
        ],
    }
    transcript = read_value(conversation)
    _, call, results, last = messages_of(transcript)
    assert call.content[0] == ThinkingBlock(thinking="Look\nat the folder")
    assert [block.is_error for block in results.content if isinstance(block, ToolResultBlock)] == [False, True]
    assert last.text == "Two."
    assert transcript.title == "Counting files"
    assert [skipped.reason for skipped in transcript.skipped if "shown" in skipped.reason]


def test_going_back_takes_a_message_and_all_after_it_out_of_the_context_and_keeps_them() -> None:
    transcript = read_lines(
        HEADER, *TURN, user("u2", "no"), answer("g3", "Oh."), {"$rewindTo": "u2"}, user("u3", "yes")
    )
    assert view_of(transcript) == ["u1", "g1", "r1", "g2", "u3"]
    assert "assistant: Oh." in texts_of(messages_of(transcript))
    everything = read_lines(HEADER, *TURN, {"$rewindTo": "unknown"}, user("u3", "yes"))
    assert view_of(everything) == ["u3"]


def test_a_resumed_conversation_adds_nothing_twice() -> None:
    again = (
        {"$set": {"sessionId": "s-1"}},
        context(user("u0", FOLDER)),
        context(
            user("u0", FOLDER),
            user("u1", "list"),
            repeated("g1", "")
            | {"content": [{"functionCall": {"id": "c1", "name": "glob", "args": {"pattern": "*"}}}]},
            response("g1_response", "c1"),
            response("r1", "c1"),
            repeated("g2", "Two."),
        ),
    )
    transcript = read_lines(HEADER, context(user("u0", FOLDER)), *TURN, HEADER, *again, user("u2", "go on"))
    assert view_of(transcript) == ["u0", "u1", "g1", "r1", "g2", "u2"]
    assert len(messages_of(transcript)) == 6
    assert len(reports_of(transcript)) == 2


COMPACTED = (
    HEADER,
    context(user("u0", FOLDER)),
    *TURN,
    user("u2", "and now"),
    answer("g3", toolCalls=[called("c9")]),
    context(
        user("u0", FOLDER),
        user("x1", "<state_snapshot>Two files.</state_snapshot>"),
        repeated("x2", "Understood."),
        user("x3", "and now"),
        repeated("x4", "") | {"content": [{"functionCall": {"id": "c9", "name": "glob", "args": {"pattern": "*"}}}]},
    ),
    response("r9", "c9"),
    answer("g4", "Done."),
)


def test_a_compaction_keeps_the_messages_that_the_log_repeats_under_new_ids() -> None:
    transcript = read_lines(*COMPACTED)
    assert view_of(transcript) == ["u0", "x1-marker", "u2", "g3", "r9", "g4"]
    marker = project(transcript.events)[1].compaction
    assert marker is not None
    assert (marker.summary, marker.context_size_before) == ("<state_snapshot>Two files.</state_snapshot>", 1_025)
    assert "assistant: Two." in texts_of(messages_of(transcript))
    assert "assistant: Understood." not in texts_of(messages_of(transcript))


def test_what_the_program_answers_to_shows_a_summary_without_its_usual_first_words() -> None:
    thanks = "Got it. Thanks for the additional context!"
    after = context(user("u0", FOLDER), user("x1", "Two files."), repeated("x2", thanks), user("x3", "and now"))
    transcript = read_lines(HEADER, context(user("u0", FOLDER)), *TURN, user("u2", "and now"), after)
    assert view_of(transcript) == ["u0", "x1-marker", "u2"]
    assert thanks not in str(texts_of(messages_of(transcript)))


def test_a_result_that_the_program_masked_is_cleared_in_the_context_alone() -> None:
    masked = (user("u0", FOLDER), user("u1", "list"), repeated("g1", ""), response("r1", "c1", "<masked>"))
    masked[2]["content"] = [{"functionCall": {"id": "c1", "name": "glob", "args": {"pattern": "*"}}}]
    again = context(*masked, repeated("g2", "Two."))
    transcript = read_lines(HEADER, context(user("u0", FOLDER)), *TURN, again, again)
    assert view_of(transcript) == ["u0", "u1", "g1", "r1", "g2"]
    assert "<masked>" in str(project(transcript.events)[3].content)
    assert "mind the bung" in str(messages_of(transcript)[3].content)
    assert len([event for event in transcript.events if isinstance(event, ContextEdited)]) == 1


def test_going_back_to_a_message_that_a_compaction_kept_keeps_the_summary() -> None:
    transcript = read_lines(*COMPACTED, {"$rewindTo": "x4"}, user("u5", "otherwise"))
    assert view_of(transcript) == ["u0", "x1-marker", "u2", "u5"]
    transcript = read_lines(*COMPACTED, {"$rewindTo": "x3"}, user("u5", "otherwise"))
    assert view_of(transcript) == ["u0", "x1-marker", "u5"]


def test_a_checkpoint_is_read_with_the_calls_paired_by_name_and_order() -> None:
    call: dict[str, Any] = {"functionCall": {"name": "glob", "args": {}}}
    result = {"functionResponse": {"name": "glob", "response": {"error": "no such folder"}}}
    history: list[Any] = [
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [{"text": "thinking", "thought": True}, call, call]},
        {"role": "user", "parts": [result, result]},
    ]
    checkpoints: list[Any] = [
        history,
        {"history": history, "authType": "a"},
        {"clientHistory": history, "toolCall": {}},
    ]
    for checkpoint in checkpoints:
        transcript = read_value(checkpoint)
        _, answered, results = messages_of(transcript)
        ids = [block.id for block in answered.content if isinstance(block, ToolUseBlock)]
        assert len(set(ids)) == 2
        assert [block.tool_use_id for block in results.content if isinstance(block, ToolResultBlock)] == ids
        assert all(block.is_error for block in results.content if isinstance(block, ToolResultBlock))


def test_a_sub_agents_parent_is_the_folder_of_its_log() -> None:
    parent = "0f0f0f0f-1111-4222-8333-444444444444"
    data = to_lines(HEADER | {"kind": "subagent"}, user("u1", "count"))
    assert read(data, f"/home/ann/.gemini/tmp/barrels/chats/{parent}/x.jsonl").parent == parent
    assert read(to_lines(HEADER, user("u1", "count")), f"chats/{parent}/x.jsonl").parent == ""


def test_unknown_lines_and_facts_are_named() -> None:
    transcript = read_lines(
        HEADER, user("u1", "a"), {"$merge": 1}, {"$set": {"mood": "calm"}}, user("p1", "") | {"type": "poll"}
    )
    assert [skipped.reason for skipped in transcript.skipped if not skipped.expected] == [
        "unknown line with the keys $merge",
        "unknown facts about the conversation: mood",
        "unknown kind of message 'poll'",
    ]


def test_a_log_reads_alike_in_every_two_pieces() -> None:
    document = parse_document(to_lines(*COMPACTED, {"$rewindTo": "x4"}, user("u5", "otherwise")), "s.jsonl")
    expect_every_split_to_read_alike(FORMAT, document)
    expect_a_growing_log_to_only_add_records(FORMAT, document)


def test_an_empty_context_takes_every_message_away() -> None:
    transcript = read_lines(HEADER, *TURN, {"$set": {"messages": []}}, user("u2", "b"))
    assert view_of(transcript) == ["u2"]
    assert len(messages_of(transcript)) == 5


def test_of_two_equal_messages_a_compaction_keeps_the_later() -> None:
    said = [line for number in (1, 2, 3) for line in (user(f"u{number}", "go on"), answer(f"g{number}", "Yes."))]
    kept = context(user("x1", "<state_snapshot>On.</state_snapshot>"), repeated("x2", "Yes."), user("x3", "go on"))
    assert view_of(read_lines(HEADER, *said, user("u4", "go on"), kept)) == ["x1-marker", "g3", "u4"]


def reading_of(*lines: dict[str, Any]) -> OpenReading:
    reading = open_reading(FORMAT, parse_document(to_lines(HEADER, *lines), "log"))
    assert reading is not None
    return reading


def test_an_answer_with_text_is_complete_and_one_with_calls_may_get_results() -> None:
    said, then = answer("g1", "I look."), answer("g1", "I look.", toolCalls=[called("c1")])
    for lines, is_complete in (([said], True), ([said, then], False), ([said, then, response("r1", "c1")], True)):
        reading = reading_of(user("u1", "list"), *lines)
        assert reading.is_complete == is_complete
        ended = reading.ended()
        assert ended is not None
        assert ended.builder.events == read_lines(HEADER, user("u1", "list"), *lines).events


def test_an_answer_with_a_call_comes_with_its_result_and_what_it_said_before_comes_first() -> None:
    said, then = answer("g1", "I look."), answer("g1", "I look.", toolCalls=[called("c1")])
    whole = read_lines(HEADER, user("u1", "list"), said, then, response("r1", "c1"), answer("g2", "Two."))
    assert [message.id for message in messages_of(whole)] == ["u1", "g1", "g1~2", "r1", "g2"]
    assert [report.message_id for report in reports_of(whole)] == ["g1", "g2"]


def test_an_answer_in_two_parts_stays_in_the_context_that_the_log_writes_again() -> None:
    said, then = answer("g1", "I look."), answer("g1", "I look.", toolCalls=[called("c1")])
    again = [user("u1", "list"), then, response("r1", "c1")]
    lines = (user("u1", "list"), said, then, response("r1", "c1"), context(*again), user("u2", "Thanks."))
    assert view_of(read_lines(HEADER, *lines)) == ["u1", "g1", "g1~2", "r1", "u2"]
    summary = user("s1", "<state_snapshot>Two files.</state_snapshot>")
    kept = context(summary, answer("a1", "Got it."), then, response("r1", "c1"))
    assert view_of(read_lines(HEADER, *lines, kept, user("u3", "Go on.")))[1:] == ["g1", "g1~2", "r1", "u3"]


def test_messages_that_a_resume_writes_again_line_by_line_count_once() -> None:
    said = [user("u1", "one"), answer("g1", "two"), user("u2", "three"), answer("g2", "four")]
    transcript = read_lines(HEADER, *said, HEADER, *said, user("u3", "five"), answer("g3", "six", prompt=1_200))
    assert [message.text for message in messages_of(transcript)] == ["one", "two", "three", "four", "five", "six"]
    assert len(reports_of(transcript)) == 3


def test_a_message_with_the_id_of_one_that_the_user_went_back_before_is_new() -> None:
    transcript = read_lines(
        HEADER, user("u1", "one"), answer("g1", "two"), {"$rewindTo": "g1"}, answer("g1", "other"), user("u2", "three")
    )
    assert [message.text for message in project(transcript.events)] == ["one", "other", "three"]
