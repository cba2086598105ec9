"""Recorded ACP sessions, replayed through the proxy by a client and an agent that send the recorded lines."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from support.acp_end import is_ours
from support.proxy_rig import running

# The lines to the agent (`<`) and from it (`>`), in order.
Trace = Sequence[tuple[str, bytes]]
_REPLAY_AGENT = Path(__file__).with_name("replay_agent.py")


async def play(trace: Trace, folder: Path) -> list[bytes]:
    """Returns every line of the agent that the client gets through the proxy. The client sends each line after it
    got all lines that the agent had sent before. The agent continues only if each line arrived unchanged."""
    path = folder / "trace"
    path.write_text("".join(f"{json.dumps([mark, line.decode()])}\n" for mark, line in trace), "utf-8")
    async with running([sys.executable, "-S", str(_REPLAY_AGENT), str(path)], folder) as rig:
        said = 0
        for mark, line in trace:
            if mark == "<":
                await rig.until_lines(said)
                rig.send_line(line)
            else:
                said += 1
        await rig.until_lines(said)
    return [line for line in rig.lines if not is_ours(line)]
