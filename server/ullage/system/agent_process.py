"""An agent as a child process: its streams, the last it said on standard error, and its end."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.system.process_groups import ask_to_end, kill_group, own_group
from ullage.system.source import CHUNK, Source, open_source
from ullage.system.writer import DescriptorWriter

# How long an agent may take to end once its input is closed, and again once it is asked to, seconds.
GRACE = 3.0
# What of standard error is kept to say why an agent ended: its last lines.
_LAST_LINES, _LONGEST_LINE = 20, 400
# How long to wait for the last words of an agent that has ended, seconds; a child of its may hold the pipe open.
_LAST_WORDS = 0.5


class AgentProcess(Struct, frozen=True, eq=False):
    """A running agent. Its standard error goes on to ours."""

    process: asyncio.subprocess.Process
    source: Source
    sink: DescriptorWriter
    errors: "asyncio.Task[None]"
    said: deque[str]

    async def ended(self) -> str:
        """Waits for its end; how it ended, in words, with the last line it said."""
        status = await self.process.wait()
        await asyncio.wait([self.errors], timeout=_LAST_WORDS)
        how = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
        return f"{how}; its last words: {self.said[-1]}" if self.said else how

    async def stop(self) -> None:
        """Ends it: closes its input, then asks, then forces."""
        self.sink.close()
        if not await self._gone_within(GRACE):
            ask_to_end(self.process)
            if not await self._gone_within(GRACE):
                await kill_group(self.process)
        self.errors.cancel()

    async def _gone_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            return False
        return True


async def start_agent(command: Sequence[str]) -> AgentProcess:
    """Starts it. Raises `InvalidRequest` where there is no such program."""
    (given, to_agent), (from_agent, written) = os.pipe(), os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=given, stdout=written, stderr=asyncio.subprocess.PIPE, **own_group()
        )
    except OSError as error:
        for descriptor in (to_agent, from_agent):
            os.close(descriptor)
        raise InvalidRequest(f"cannot start the agent {command[0]}: {error.strerror or error}") from error
    finally:
        os.close(given)
        os.close(written)
    said: deque[str] = deque(maxlen=_LAST_LINES)
    return AgentProcess(
        process=process,
        source=await open_source(from_agent),
        sink=DescriptorWriter(to_agent),
        errors=asyncio.ensure_future(_pass_errors(process.stderr, said)),
        said=said,
    )


async def _pass_errors(stream: asyncio.StreamReader | None, said: "deque[str]") -> None:
    rest = b""
    while stream is not None and (data := await stream.read(CHUNK)):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
        *lines, rest = (rest + data).split(b"\n")
        said.extend(text for line in lines if (text := line.decode(errors="replace").strip()[:_LONGEST_LINE]))
        rest = rest[-_LONGEST_LINE:]
    if text := rest.decode(errors="replace").strip():
        said.append(text)
