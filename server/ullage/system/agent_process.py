"""An agent as a child process: its streams, the last lines of its standard error, and its end."""

import asyncio
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.system.ended_with_us import start_with_us
from ullage.system.process_groups import ask_to_end, kill_group
from ullage.system.source import CHUNK, Source, open_source
from ullage.system.writer import DescriptorWriter

# Seconds that an agent may take to end after its input is closed, and again after SIGTERM.
GRACE = 3.0
# The last lines of standard error that are kept to say why an agent ended, and the characters kept of each.
_LAST_LINES, _LONGEST_LINE = 20, 400
# Seconds to wait for the rest of standard error after the agent has ended. A child of the agent may keep the pipe open.
_REST_TIMEOUT = 0.5
# What a line says that gives a reason. A stack trace follows such a line, or ends with it.
_REASON = re.compile(
    r"error|fatal|panic|exception|failed|failure|abort|killed|cannot|can't|unable|denied|refused|not found|"
    r"out of memory|unauthori[sz]ed|\bE[A-Z]{4,}\b",
    re.IGNORECASE,
)
# A stack frame, which may contain the name of an error.
_FRAME = re.compile(r"at |File \"|\^|note: ")
# An entry of a log: a field (`phase=register`), or a level that is no error.
_LOG = re.compile(r"\b\w+=\S|\b(?:info|debug|trace)\b", re.IGNORECASE)


class AgentProcess(Struct, frozen=True, eq=False):
    """An agent that runs as a child process. `source` reads its standard output, `sink` writes to its standard input.
    Its standard error is copied to Ullage's, and the last lines of it are kept."""

    process: asyncio.subprocess.Process
    source: Source
    sink: DescriptorWriter
    errors: "asyncio.Task[None]"
    last_lines: deque[str]

    async def ended(self) -> str:
        """Waits until the agent ends. Returns its exit status or signal in words, with the line of its standard
        error that says why, if there is one."""
        status = await self.process.wait()
        await asyncio.wait([self.errors], timeout=_REST_TIMEOUT)
        how = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
        why = last_words(self.last_lines)
        return f"{how}; its last words: {why}" if why else how

    async def stop(self) -> None:
        """Ends the agent: closes its input, then asks its process group to end, then kills the group. Waits up to 3
        seconds after each of the first two steps."""
        self.sink.close()
        if not await self._ends_within(GRACE):
            ask_to_end(self.process)
            if not await self._ends_within(GRACE):
                await kill_group(self.process)
        self.errors.cancel()

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            return False
        return True


async def start_agent(command: Sequence[str]) -> AgentProcess:
    """Starts an agent by its command line and returns the process. Raises `InvalidRequest` if the program can't be
    started."""
    (given, to_agent), (from_agent, written) = os.pipe(), os.pipe()
    try:
        process = await start_with_us(*command, stdin=given, stdout=written, stderr=asyncio.subprocess.PIPE)
    except OSError as error:
        for descriptor in (to_agent, from_agent):
            os.close(descriptor)
        raise InvalidRequest(f"cannot start the agent {command[0]}: {error.strerror or error}") from error
    finally:
        os.close(given)
        os.close(written)
    last_lines: deque[str] = deque(maxlen=_LAST_LINES)
    return AgentProcess(
        process=process,
        source=await open_source(from_agent),
        sink=DescriptorWriter(to_agent),
        errors=asyncio.ensure_future(_copy_errors(process.stderr, last_lines)),
        last_lines=last_lines,
    )


async def _copy_errors(stream: asyncio.StreamReader | None, last_lines: "deque[str]") -> None:
    rest = b""
    while stream is not None and (data := await stream.read(CHUNK)):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
        *lines, rest = (rest + data).split(b"\n")
        last_lines.extend(text for line in lines if (text := line.decode(errors="replace").strip()[:_LONGEST_LINE]))
        rest = rest[-_LONGEST_LINE:]
    if text := rest.decode(errors="replace").strip():
        last_lines.append(text)


def last_words(lines: Iterable[str]) -> str:
    """Returns the last of the lines that gives a reason. If none does, returns the last that is no entry of a log, or
    "" if all are."""
    said = [line for line in lines if not _FRAME.match(line)]
    reasons = [line for line in said if _REASON.search(line)]
    others = [line for line in said if not _LOG.search(line)]
    return next((found[-1] for found in (reasons, others) if found), "")
