import base64
import json
from typing import Any

from support.codex_files import logged as event
from support.foreign import messages_of, read_lines
from ullage.model.message import ToolResultBlock, join_texts


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
