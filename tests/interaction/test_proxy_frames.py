"""Frames of any kind, most of them wrong in some way, are forwarded unchanged in both directions."""

import sys
from pathlib import Path

import pytest

from doorfuzz.frames import ACP_METHODS, FrameMaker
from support.acp_end import is_ours
from support.proxy_rig import running
from ullage.proxy.pipe.lines import LONGEST

# An agent that returns every line, so that each frame is sent by the client first and then by the agent.
_ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
_FRAMES = 1_500
_LAST = b'{"jsonrpc":"2.0","method":"_the/last"}\n'


@pytest.mark.parametrize("seed", [1, 2])
async def test_nothing_that_either_side_says_is_changed_or_lost(tmp_path: Path, seed: int) -> None:
    maker = FrameMaker(seed, ACP_METHODS, "_ullage/", "s", LONGEST)
    frames = [maker.make(number).body.replace(b"\n", b" ") + b"\n" for number in range(_FRAMES)]
    async with running([sys.executable, "-c", _ECHO], tmp_path) as rig:
        rig.reads = False
        for frame in [*frames, _LAST]:
            rig.send_line(frame)
        await rig.until_line(_LAST)
    assert [line for line in rig.lines if not is_ours(line)] == [*frames, _LAST]
