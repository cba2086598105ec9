"""Recorded ACP sessions, played again through the proxy: a client that says what it said, an agent that answers so."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from support.acp_end import is_ours
from support.proxy_rig import running

# What was said to the agent (`<`) and by it (`>`), in order.
Trace = Sequence[tuple[str, bytes]]
_REPLAY_AGENT = Path(__file__).with_name("replay_agent.py")


async def play(trace: Trace, folder: Path) -> list[bytes]:
    """Every line of the agent's that the client gets through the proxy. The client says each line once it has got what
    the agent had said by then; that the agent got each as it was is seen from its going on."""
    path = folder / "trace"
    path.write_text("".join(f"{json.dumps([mark, line.decode()])}\n" for mark, line in trace), "utf-8")
    async with running([sys.executable, str(_REPLAY_AGENT), str(path)], folder) as rig:
        said = 0
        for mark, line in trace:
            if mark == "<":
                await rig.until_lines(said)
                rig.send_line(line)
            else:
                said += 1
        await rig.until_lines(said)
    return [line for line in rig.lines if not is_ours(line)]
