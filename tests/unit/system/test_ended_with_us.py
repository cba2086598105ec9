"""What happens to child processes when a signal ends Ullage: none of them outlives it."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.systems import needs_signals

pytestmark = needs_signals
# Seconds. A child ends within two; one that is forgotten lives longer than this, but not for ever.
PATIENCE = 120.0
# Both hold a pipe open as long as they live. They neither read their input nor end at its end.
_GENTLE = "exec 3>'{pipe}'; echo ready >&3; sleep 150 & for n in $(seq 150); do sleep 1; done"
_STUBBORN = "trap '' TERM HUP INT; " + _GENTLE
_AGENT = """
import asyncio, sys
from ullage.system.processes import start_agent

async def main():
    agent = await start_agent(["sh", "-c", sys.argv[1]])
    await agent.process.wait()

asyncio.run(main())
"""
_HOOK = """
import asyncio, sys
from ullage.system.processes import SubprocessRunner

asyncio.run(SubprocessRunner().run(["sh", "-c", sys.argv[1]], b"", 3600))
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("child", [_GENTLE, _STUBBORN], ids=["gentle", "stubborn"])
@pytest.mark.parametrize("program", [_AGENT, _HOOK], ids=["agent", "hook"])
async def test_a_signal_that_ends_ullage_ends_what_it_has_started(
    tmp_path: Path, program: str, child: str, number: str
) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    ours = subprocess.Popen(
        [sys.executable, "-c", program, child.format(pipe=pipe)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        # Opening it waits until the child has opened its end; reading ends when no process holds that any more.
        with await asyncio.wait_for(asyncio.to_thread(pipe.open, "rb"), PATIENCE) as held:
            assert await asyncio.wait_for(asyncio.to_thread(held.readline), PATIENCE) == b"ready\n"
            ours.send_signal(getattr(signal, number))
            assert await asyncio.wait_for(asyncio.to_thread(held.read), PATIENCE) == b""
        status = await asyncio.wait_for(asyncio.to_thread(ours.wait), PATIENCE)
        assert status != 0
    finally:
        ours.kill()
        ours.wait()
        assert ours.stdin is not None
        ours.stdin.close()
