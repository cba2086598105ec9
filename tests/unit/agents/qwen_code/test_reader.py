from typing import Any

from support.foreign import ids_of, messages_of, read_lines, reports_of, to_lines, view_of
from ullage.agents.inserted import is_typed, without_inserted
from ullage.agents.qwen_code.conversations import FORMAT, QwenReader
from ullage.agents.transcripts import detect
from ullage.formats.parsing import Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.edits import CompactionEdit
from ullage.model.events import ContextEdited, WindowReported


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


def test_two_records_with_one_id_are_one_answer() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        record("assistant", "a1", "u1", say("I think.", thought=True)),
        record("assistant", "a1", "u1", call("c1"), usageMetadata=usage(10, 1)),
        record("assistant", "a1", "u1", call("c1"), say("and more"), usageMetadata=usage(10, 2)),
        record("user", "u2", "a1", say("next")),
    )
    messages = messages_of(transcript)
    assert [type(block) for block in messages[1].content] == [ThinkingBlock, ToolUseBlock]
    assert [message.text for message in messages[2:]] == ["and more", "next"]


def test_a_rewind_archives_what_came_after_its_parent_at_once() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        record("assistant", "a1", "u1", say("wrong")),
        system("rewind", "w1", "u1", targetUuid="u1"),
    )
    assert ids_of(view_of(transcript)) == ["u1"]
    assert ids_of(messages_of(transcript)) == ["u1", "a1"]


def test_a_rewind_to_the_first_prompt_archives_everything() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        record("assistant", "a1", "u1", say("answer")),
        system("rewind", "w1", None),
        record("user", "u2", "w1", say("another question")),
    )
    assert ids_of(view_of(transcript)) == ["u2"]
    assert ids_of(messages_of(transcript)) == ["u1", "a1", "u2"]


def test_a_record_after_a_rewind_can_return_to_the_branch_that_was_left() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        record("assistant", "a1", "u1", say("one")),
        system("rewind", "w1", "u1"),
        record("assistant", "a2", "w1", say("two")),
        record("user", "u2", "a1", say("back to one")),
    )
    assert ids_of(view_of(transcript)) == ["u1", "a1", "u2"]


def compression(uuid: str, parent: str, *history: dict[str, Any], status: int = 1) -> dict[str, Any]:
    info = {"originalTokenCount": 64_742, "compressionStatus": status, "triggerReason": "token_limit"}
    return system("chat_compression", uuid, parent, info=info, compressedHistory=list(history))


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def test_a_compaction_keeps_what_its_history_has_and_what_waits_for_an_answer() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("old")),
        record("assistant", "a1", "u1", say("old answer")),
        record("user", "u2", "a1", say("look")),
        record("assistant", "a2", "u2", call("c1")),
        record("tool_result", "r1", "a2", result("c1")),
        compression(
            "k1", "r1", content("user", say("The story so far.")), content("model", say("Understood."), call("c1"))
        ),
        record("assistant", "a3", "k1", say("answer")),
    )
    assert ids_of(view_of(transcript)) == ["k1-marker", "a2", "r1", "a3"]
    (edit,) = [event.edit for event in transcript.events if isinstance(event, ContextEdited)]
    assert isinstance(edit, CompactionEdit)
    assert edit.marker.compaction is not None
    assert edit.marker.compaction.summary == "The story so far."
    assert edit.marker.compaction.context_size_before == 64_742


def test_a_compaction_before_a_request_keeps_the_prompt_of_that_request() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("old")),
        record("assistant", "a1", "u1", say("old answer")),
        record("user", "u2", "a1", say("too much")),
        compression("k1", "u2", content("user", say("The story so far.")), content("model", say("Understood."))),
        record("assistant", "a2", "k1", say("answer")),
    )
    assert ids_of(view_of(transcript)) == ["k1-marker", "u2", "a2"]


def test_a_compaction_keeps_texts_that_its_history_repeats() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("old")),
        record("assistant", "a1", "u1", say("old answer")),
        record("user", "u2", "a1", say("new")),
        record("assistant", "a2", "u2", say("new answer")),
        compression(
            "k1",
            "a2",
            content("user", say("The story so far.")),
            content("model", say("Understood.")),
            content("user", say("new")),
            content("model", say("new answer")),
            content("user", say("The files again.")),
        ),
        record("user", "u3", "k1", say("next")),
    )
    assert ids_of(view_of(transcript)) == ["k1-marker", "u2", "a2", "k1-1", "u3"]


def test_a_compaction_that_failed_is_none() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        compression("k1", "u1", content("user", say("The story so far.")), status=2),
        record("assistant", "a1", "k1", say("answer")),
    )
    assert ids_of(view_of(transcript)) == ["u1", "a1"]


def test_a_sub_agents_file_is_a_conversation_with_a_parent() -> None:
    own = {"isSidechain": True, "agentId": "general-1"}
    transcript = read_lines(
        record("user", "u1", None, say("look around"), **own), record("assistant", "a1", "u1", say("found"), **own)
    )
    assert ids_of(messages_of(transcript)) == ["u1", "a1"]
    assert (transcript.session_id, transcript.parent) == ("general-1", "s")


def test_what_a_hook_adds_to_a_prompt_is_not_the_users() -> None:
    added = "<qwen:user-prompt-submit-context>\nBe brief.\n</qwen:user-prompt-submit-context>"
    assert not is_typed(added)
    assert without_inserted(f"question{added}") == "question"


def test_kinds_of_records_that_are_not_known_are_told() -> None:
    transcript = read_lines(
        record("user", "u1", None, say("question")),
        system("weather", "x1", "u1"),
        record("tide", "x2", "x1"),
        record("user", "u2", "x2", say("next")),
    )
    assert ids_of(view_of(transcript)) == ["u1", "u2"]
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(2, False), (3, False)]


def test_the_format_can_be_read_while_it_grows() -> None:
    assert FORMAT.reader is QwenReader
    assert isinstance(messages_of(read_lines(record("user", "u1", None, say("hi"))))[0].content[0], TextBlock)
