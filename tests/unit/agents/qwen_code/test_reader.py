from typing import Any

from support.foreign import ids_of, messages_of, read_lines, reports_of, to_lines
from ullage.agents.inserted import is_typed, without_inserted
from ullage.agents.qwen_code import FORMAT, QwenReader
from ullage.agents.transcripts import detect
from ullage.formats.parsing import Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.events import WindowReported
from ullage.model.message import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock


def record(kind: str, uuid: str, parent: str | None, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "cwd": "/home/ann/cellar",
        "version": "0.24.4",
        "message": {"role": role, "parts": list(parts)},
    } | more


def system(subtype: str, uuid: str, parent: str | None, **payload: Any) -> dict[str, Any]:
    return record("system", uuid, parent, subtype=subtype, systemPayload=payload)


def call(name: str) -> dict[str, Any]:
    return {"functionCall": {"id": name, "name": "read_file", "args": {"path": name}}}


def result(name: str) -> dict[str, Any]:
    return {"functionResponse": {"id": name, "name": "read_file", "response": {"output": f"result of {name}"}}}


def say(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text} | more


def usage(prompt: int, output: int, **more: int) -> dict[str, int]:
    return {"promptTokenCount": prompt, "candidatesTokenCount": output, "totalTokenCount": prompt + output} | more


def test_a_session_is_read_with_its_usage_window_and_facts() -> None:
    lines = [
        record("user", "u1", None, say("count the barrels")),
        system("ui_telemetry", "t1", "u1"),
        record(
            "assistant",
            "a1",
            "t1",
            say("I look.", thought=True),
            call("c1"),
            model="qwen3",
            usageMetadata=usage(100, 9, cachedContentTokenCount=60, thoughtsTokenCount=5),
            contextWindowSize=80_000,
        ),
        record("tool_result", "r1", "a1", result("c1")),
        record("assistant", "a2", "r1", say("Three."), usageMetadata=usage(120, 3), contextWindowSize=80_000),
        system("custom_title", "t2", "a2", customTitle="Barrels"),
    ]
    assert detect(to_lines(*lines)) == "qwen-code"
    transcript = read_lines(*lines)
    assert ids_of(messages_of(transcript)) == ["u1", "a1", "r1", "a2"]
    _, answer, results, _ = messages_of(transcript)
    assert [type(block) for block in answer.content] == [ThinkingBlock, ToolUseBlock]
    assert [type(block) for block in results.content] == [ToolResultBlock]
    first, second = reports_of(transcript)
    assert (first.message_id, first.usage.prompt, first.usage.output_tokens) == ("a1", 100, 9)
    assert (first.usage.cache_read_input_tokens, first.usage.reasoning_tokens) == (60, 5)
    assert (second.message_id, second.usage.total) == ("a2", 123)
    assert [event.size for event in transcript.events if isinstance(event, WindowReported)] == [80_000]
    assert (transcript.title, transcript.cwd, transcript.model) == ("Barrels", "/home/ann/cellar", "qwen3")
    assert (transcript.agent, transcript.version, transcript.session_id) == ("Qwen Code", "0.24.4", "s")
    assert all(skipped.expected for skipped in transcript.skipped)


def test_an_answer_with_its_usage_is_read_at_once() -> None:
    builder = TranscriptBuilder("qwen-code", "live")
    reader = QwenReader(builder)
    reader.take(Line(number=1, value=record("user", "u1", None, say("question"))))
    reader.take(Line(number=2, value=record("assistant", "a1", "u1", say("answer"), usageMetadata=usage(10, 1))))
    assert type(builder.events[-1]).__name__ == "UsageReported"


def test_what_a_hook_adds_to_a_prompt_is_not_the_users() -> None:
    added = "<qwen:user-prompt-submit-context>\nBe brief.\n</qwen:user-prompt-submit-context>"
    assert not is_typed(added)
    assert without_inserted(f"question{added}") == "question"


def test_the_format_can_be_read_while_it_grows() -> None:
    assert FORMAT.reader is QwenReader
    assert isinstance(messages_of(read_lines(record("user", "u1", None, say("hi"))))[0].content[0], TextBlock)
