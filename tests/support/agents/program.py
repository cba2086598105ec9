"""The client's end of an agent, or of the proxy with an agent, that runs as a program."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from support.acp_end import AcpEnd, Json
from support.agents.launch import Launch

ULLAGE = Path(sys.executable).with_name("ullage")
# The answer to an agent's permission request: every tool call is refused.
_REJECTED: Json = {"outcome": {"outcome": "cancelled"}}
_CHUNK = 1 << 16
# Seconds after the end of its input until a program is killed. Some agents do not end by themselves.
_ENDS_WITHIN = 60.0


class ProgramEnd(AcpEnd):
    """The client of a program. `trace` has all lines in order, with `<` for those to the program and `>` for those
    from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process
        self.trace: list[tuple[str, bytes]] = []
        self.allows = _REJECTED

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.trace.append(("<", line))
        self.process.stdin.write(line)

    async def listen(self) -> None:
        """Reads the program's output until it ends."""
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(_CHUNK):
            known = len(self.lines)
            self.take(data)
            self.trace += [(">", line) for line in self.lines[known:]]


@asynccontextmanager
async def program(command: Sequence[str], launch: Launch, errors: Path) -> AsyncGenerator[ProgramEnd]:
    """Runs a program in an agent's environment while the block runs. Its standard error goes to a file."""
    with errors.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=launch.environment,
            cwd=launch.cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    end = ProgramEnd(process)
    listening = asyncio.ensure_future(end.listen())
    try:
        yield end
    finally:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _ENDS_WITHIN)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await asyncio.wait([listening])


def proxied(launch: Launch, store: Path, *options: str) -> tuple[str, ...]:
    """Returns the command line of the proxy for an agent."""
    return (str(ULLAGE), "acp", "--store", str(store), *options, "--", *launch.command)
