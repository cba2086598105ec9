"""Answers that an agent is still writing: what is read of a file that grows, and when."""

from typing import Any

import pytest
from msgspec.structs import replace

from support.foreign import ids_of, read_lines
from support.growing_files import read_pieces, records_of
from support.samples import documents, sample_of
from support.session_log import call, line, result
from ullage.agents.claude_code.reader import FORMAT as CLAUDE_CODE
from ullage.agents.gemini_cli import FORMAT as GEMINI_CLI
from ullage.agents.openhands import FORMAT as OPENHANDS
from ullage.agents.qwen_code import FORMAT as QWEN_CODE
from ullage.agents.transcripts import detect_format
from ullage.formats.parsing import Line, parse_document
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Format, open_reading
from ullage.model.events import Event, MessageAppended, UsageReported


def read_so_far(known: Format, *values: Any) -> tuple[Event, ...]:
    """Returns the events of the first lines of a file that goes on."""
    assert known.reader is not None
    builder = TranscriptBuilder(known.name, "live")
    reader = known.reader(builder)
    for number, value in enumerate(values, start=1):
        reader.take(Line(number=number, value=value))
    return tuple(builder.drain())


@pytest.mark.parametrize(
    ("agent", "sentence", "rows", "written", "growing"),
    [
        (
            "crush",
            "a turn has its parts and the usage of the newest request",
            2,
            '"finished_at": 1790000001',
            '"finished_at": null',
        ),
        (
            "opencode",
            "prompts answers and tools are read with model usage times and folder",
            4,
            r", \"completed\": 1790000005500",
            "",
        ),
        ("opencode", "database folder and export give the same messages, 2", 7, r", \"completed\": 1790000002005", ""),
    ],
)
def test_an_answer_of_a_database_is_read_once_it_is_complete(
    agent: str, sentence: str, rows: int, written: str, growing: str
) -> None:
    kind, *lines = sample_of(agent, sentence).written
    sessions = [row for row in lines[rows:] if '"table": "sessions"' in row]
    begun = "\n".join(lines[:rows])
    assert begun.count(written) == 1
    (whole,) = documents([kind, *lines])
    grown = begun.replace(written, growing).replace(r"\"status\": \"completed\"", r"\"status\": \"running\"")
    (part,) = documents([kind, *grown.split("\n"), *sessions])
    known = detect_format(whole)
    before, after = records_of(known, part), records_of(known, whole)
    last = len(before) - 1
    assert ([one.value for one in before[:last]], before[last].value != after[last].value) == (
        [one.value for one in after[:last]],
        True,
    )
    assert read_pieces(known, [before, after[last:]]) == read_pieces(known, [after])


def test_a_complete_answer_of_claude_code_is_read_as_soon_as_its_results_are_there() -> None:
    events = read_so_far(
        CLAUDE_CODE,
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="a1", stop_reason="tool_use"),
        line("user", "r1", "a1", [result("t1")]),
    )
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["ConversationImported", "MessageAppended", "MessageAppended", "UsageReported", "MessageAppended"]


def test_a_line_whose_parent_is_missing_does_not_wait_for_the_end_of_the_file() -> None:
    others = [{"type": "mode", "mode": "normal"}] * 58
    events = read_so_far(CLAUDE_CODE, line("user", "u1", "not there", "question"), *others)
    assert ids_of([event.message for event in events if isinstance(event, MessageAppended)]) == ["u1"]


def test_an_answer_of_qwen_code_with_its_usage_is_read_at_once() -> None:
    record = {"sessionId": "s", "timestamp": "2026-01-02T03:04:05.678Z"}
    prompt = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"parts": [{"text": "question"}]}}
    answer = {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {"parts": [{"text": "answer"}]}}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11}
    events = read_so_far(QWEN_CODE, record | prompt, record | answer | {"usageMetadata": usage})
    assert isinstance(events[-1], UsageReported)


def test_an_answer_of_gemini_cli_with_text_is_complete_and_one_with_calls_may_get_results() -> None:
    sentence = "an answer with a call comes with its result and what it said before comes first"
    written = sample_of("gemini_cli", sentence).written
    for lines, is_complete in ((3, True), (4, False), (5, True)):
        data = "".join(f"{line}\n" for line in written[:lines]).encode()
        reading = open_reading(GEMINI_CLI, parse_document(data, "log"))
        assert reading is not None
        assert reading.is_complete == is_complete
        ended = reading.ended()
        assert ended is not None
        assert ended.builder.events == read_lines(*written[:lines]).events


def test_a_state_of_openhands_that_is_written_later_brings_the_usage_then() -> None:
    sample = sample_of("openhands", "the calls of one response are one answer with its usage")
    first, *others = records_of(OPENHANDS, sample.document)
    state: dict[str, Any] = first.value or {}
    metrics = state["state"]["stats"]["usage_to_metrics"]
    unknown = {"state": state["state"] | {"stats": {"usage_to_metrics": metrics | {"agent": {"token_usages": []}}}}}
    late = replace(first, number=99)
    events = read_pieces(OPENHANDS, [[replace(first, value=unknown), *others], [late, late]])
    assert [event.usage.total for event in events if isinstance(event, UsageReported)] == [109, 209]


def test_an_answer_of_gemini_cli_without_text_has_its_usage_while_its_tool_runs() -> None:
    asked = {"id": "u1", "timestamp": "2026-05-01T10:00:00.000Z", "type": "user", "content": [{"text": "List them."}]}
    answer: dict[str, Any] = {
        "id": "g1",
        "timestamp": "2026-05-01T10:00:01.000Z",
        "type": "gemini",
        "content": "",
        "thoughts": [],
        "tokens": {"input": 11_852, "output": 37, "cached": 3_950, "thoughts": 5, "tool": 0, "total": 11_894},
        "model": "gemini-2.5-flash",
    }
    call = {"id": "f1", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"}
    header = {"sessionId": "s1", "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z", "kind": "main"}
    running = read_lines(header, asked, answer)
    ended = read_lines(header, asked, answer, {**answer, "toolCalls": [call]})
    for transcript, messages in ((running, ["u1"]), (ended, ["u1", "g1"])):
        reports = [event for event in transcript.events if isinstance(event, UsageReported)]
        assert [report.usage.total for report in reports] == [11_894]
        said = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
        assert [message.id for message in said if message.content] == messages
