"""A recorded session between a real client and a real agent, replayed through the proxy."""

import re
from pathlib import Path

from support.traces import Trace, play
from support.transcripts import conversation

_FRAME = re.compile(r"AcpTransport - (OUT|IN): (.*)$")


def read_trace(path: Path) -> Trace:
    """Returns the frames of a log, without the logger's own text."""
    found = [match for line in path.read_text("utf-8").splitlines() if (match := _FRAME.search(line))]
    return [("<" if match[1] == "OUT" else ">", f"{match[2]}\n".encode()) for match in found]


async def test_a_recorded_session_passes_the_proxy_byte_for_byte(tmp_path: Path) -> None:
    trace = read_trace(conversation("acp_logs/anna239-acp-replay-example.log"))
    assert len(trace) == 132
    assert await play(trace, tmp_path) == [line for mark, line in trace if mark == ">"]
