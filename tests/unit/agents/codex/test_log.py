import base64
import json
from typing import Any

from support.codex_files import logged as event
from support.foreign import messages_of, read_lines, texts_of, to_lines
from ullage.agents.transcripts import read
from ullage.model.message import ToolResultBlock, ToolUseBlock, join_texts


def shell(call: str, stdout: str = "out", exit_code: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        event("exec_command_begin", call_id=call, command=["bash", "-lc", "ls"]),
        event("exec_command_end", call_id=call, stdout=stdout, stderr="", exit_code=exit_code),
    )


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
