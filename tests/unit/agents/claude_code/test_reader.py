import pytest

from support.foreign import ids_of, read_lines, to_lines
from support.session_log import call, line, result
from ullage.agents.claude_code.reader import Reader
from ullage.agents.transcripts import detect
from ullage.formats.parsing import Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import MessageAppended


def test_a_log_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match=r"test\.jsonl: looks like claude-code"):
        read_lines({"type": "summary", "summary": "t"}, "{", format_name="claude-code")


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
