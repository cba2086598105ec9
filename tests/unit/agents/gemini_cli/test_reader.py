from typing import Any

from support.foreign import read_lines, to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.gemini_cli import FORMAT
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.format import OpenReading, open_reading

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


TURN = (
    user("u1", "list"),
    {"$set": {"lastUpdated": "2026-05-01T10:00:02.000Z"}},
    answer("g1"),
    answer("g1", toolCalls=[called("c1")]),
    response("r1", "c1", "two files <hook>mind the bung</hook>"),
    answer("g2", "Two.", prompt=1_100),
)


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


def test_a_log_reads_alike_in_every_two_pieces() -> None:
    document = parse_document(to_lines(*COMPACTED, {"$rewindTo": "x4"}, user("u5", "otherwise")), "s.jsonl")
    expect_every_split_to_read_alike(FORMAT, document)
    expect_a_growing_log_to_only_add_records(FORMAT, document)


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
