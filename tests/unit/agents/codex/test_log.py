import base64
import json
from typing import Any

from support.codex_files import logged as event
from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from ullage.agents.codex.early_log import UNRECORDED_PROMPT
from ullage.agents.transcripts import read
from ullage.model.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock, join_texts


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


def test_a_second_conversation_in_the_log_is_another_run() -> None:
    first = (event("session_configured", model="m"), event("task_started"), event("agent_message", message="one"))
    second = (event("session_configured", model="m"), event("task_started"), *shell("c"), *shell("d"))
    transcript = read_lines(*first, *second)
    assert any(isinstance(block, ToolUseBlock) for message in messages_of(transcript) for block in message.content)
    assert ("run 1" in transcript.skipped[0].reason, transcript.skipped[0].expected) == (True, True)
    other = read(to_lines(*first, *second), "log", run=1)
    assert texts_of(messages_of(other))[-1] == "assistant: one"


def test_a_long_output_is_read_from_its_pieces_as_far_as_the_model_is_sent_it() -> None:
    def piece(text: str) -> dict[str, Any]:
        chunk = base64.b64encode(text.encode()).decode()
        return event("exec_command_output_delta", call_id="c", stream="stdout", chunk=chunk)

    lines = [f"{number:>30}\n" for number in range(300)]
    transcript = read_lines(
        event("task_started"),
        event("exec_command_begin", call_id="c", command=["seq", "300"]),
        *map(piece, lines),
        event("exec_command_end", call_id="c", stdout="".join(lines)[: 5 * 1024], stderr="", exit_code=0),
    )
    (result,) = messages_of(transcript)[-1].content
    assert isinstance(result, ToolResultBlock)
    assert json.loads(join_texts(result.content))["output"].split() == [str(number) for number in range(256)]
