from typing import Any

from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from ullage.agents.codex.log_turn import UNRECORDED_PROMPT
from ullage.agents.transcripts import read
from ullage.model.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.edits import CompactionEdit
from ullage.model.events import ContextEdited


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "ts": "2025-08-09T15:51:04.827Z",
        "dir": "to_tui",
        "kind": "codex_event",
        "payload": {"id": "1", "msg": {"type": kind} | fields},
    }


def shell(call: str, stdout: str = "out", exit_code: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        event("exec_command_begin", call_id=call, command=["bash", "-lc", "ls"]),
        event("exec_command_end", call_id=call, stdout=stdout, stderr="", exit_code=exit_code),
    )


def counted(prompt: int, cached: int, output: int) -> dict[str, Any]:
    return event("token_count", input_tokens=prompt, cached_input_tokens=cached, output_tokens=output)


def test_a_request_of_the_log_is_answer_account_and_results_in_this_order() -> None:
    transcript = read_lines(
        event("session_configured", model="gpt-5-codex"),
        event("task_started"),
        event("agent_reasoning_delta", delta="think"),
        event("agent_reasoning", text="thinking"),
        event("agent_message_delta", delta="I"),
        event("agent_message", message="I look."),
        *shell("c1", exit_code=1),
        counted(100, 60, 9),
        event("agent_message", message="Done."),
        counted(120, 100, 5),
    )
    prompt, answer, results, last = messages_of(transcript)
    assert prompt.text == UNRECORDED_PROMPT
    assert answer.content[0] == ThinkingBlock(thinking="thinking")
    assert isinstance(answer.content[-1], ToolUseBlock)
    assert isinstance(results.content[0], ToolResultBlock)
    assert results.content[0].is_error
    assert last.text == "Done."
    reports = reports_of(transcript)
    assert [(report.message_id, report.usage.prompt) for report in reports] == [(answer.id, 100), (last.id, 120)]
    assert reports[0].usage.cache_read_input_tokens == 60
    assert transcript.model == "gpt-5-codex"


def test_a_recorded_prompt_is_used_and_streamed_text_serves_where_the_whole_never_came() -> None:
    typed = {
        "ts": "",
        "dir": "from_tui",
        "kind": "op",
        "payload": {"type": "user_input", "items": [{"type": "text", "text": "hello"}]},
    }
    transcript = read_lines(
        typed, event("task_started"), event("agent_message_delta", delta="Hi"), event("agent_message_delta", delta="!")
    )
    assert texts_of(messages_of(transcript)) == ["user: hello", "assistant: Hi!"]


def test_a_second_conversation_in_the_log_is_another_run() -> None:
    first = (event("session_configured", model="m"), event("task_started"), event("agent_message", message="one"))
    second = (event("session_configured", model="m"), event("task_started"), *shell("c"), *shell("d"))
    transcript = read_lines(*first, *second)
    assert any(isinstance(block, ToolUseBlock) for message in messages_of(transcript) for block in message.content)
    assert ("run 1" in transcript.skipped[0].reason, transcript.skipped[0].expected) == (True, True)
    other = read(to_lines(*first, *second), "log", run=1)
    assert texts_of(messages_of(other))[-1] == "assistant: one"


def test_an_unknown_event_is_named() -> None:
    transcript = read_lines(event("agent_message", message="one"), event("teleported"))
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(2, False)]


def rollout(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2025-10-01T00:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return rollout("response_item", type=kind, **fields)


def test_a_rollout_is_read_by_its_items() -> None:
    account = {"input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 7}
    counted_twice = [rollout("event_msg", type="token_count", info={"last_token_usage": account})] * 2
    transcript = read_lines(
        rollout("session_meta", id="x", cwd="/work", instructions="Be brief."),
        rollout("turn_context", cwd="/work", model="gpt-5-codex"),
        item("message", role="user", content=[{"type": "input_text", "text": "question"}]),
        rollout("event_msg", type="user_message", message="question"),
        item("reasoning", summary=[{"type": "summary_text", "text": "thinking"}], encrypted_content="x"),
        item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
        *counted_twice,
        item("function_call_output", call_id="c1", output="out"),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        rollout("compacted", message="The story so far."),
        item("message", role="user", content=[{"type": "input_text", "text": "next"}]),
    )
    assert texts_of(messages_of(transcript)) == [
        "system: Be brief.",
        "user: question",
        "assistant: ",
        "user: ",
        "assistant: Done.",
        "user: next",
    ]
    (report,) = reports_of(transcript)
    assert (report.usage.prompt, report.usage.input_tokens) == (50, 10)
    assert (transcript.model, transcript.cwd) == ("gpt-5-codex", "/work")
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []
    (edit,) = [event_.edit for event_ in transcript.events if isinstance(event_, ContextEdited)]
    assert isinstance(edit, CompactionEdit)
    assert (edit.start, edit.end, edit.leading) == (0, 5, ("m0001",))
