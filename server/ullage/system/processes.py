"""Child processes: how they are started, ended together with every process that they have started, and ended with us.

On POSIX a child leads its own session, and signals go to its process group. Windows has process groups for console
events alone, so there the process tree is ended by `taskkill`, which is part of Windows.

Signals: a child in a group of its own gets none of those that end Ullage. So the first start of a child sets a handler
for each of SIGTERM, SIGHUP and SIGINT. It sends the children's groups SIGTERM, kills after a second those that are
left, and then has the signal end Ullage as it would have without the handler. A handler that is there before is not
replaced, except the one for SIGINT, which is called afterwards. Nothing can be done after SIGKILL. So each agent has a
guard on POSIX, a shell that waits for the end of a pipe of Ullage's and then ends the agent's group; the agent begins
when the guard is there. An agent that Ullage stops is asked in the same order: the end of its input, SIGTERM, SIGKILL.
Two commands have a handler for it of their own: `ullage watch` (`cli/commands/watch.py`), to leave the terminal as it
was, and a status line that runs another one (`cli/statusline/chained.py`), to end that one.

Two kinds of programs are started: an agent, with its streams and the last lines of its standard error, and a user's own
program (a hook), limited in time and output, outside any project, and without our environment.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import IO, Any
from weakref import WeakSet

from msgspec import Struct

from ullage.host import this_system
from ullage.model.errors import InvalidRequest
from ullage.service.ports.models import CommandOutcome
from ullage.system.stdio import CHUNK, DescriptorWriter, Source, open_source

# Seconds that `taskkill` may take. After that, only the child itself is killed.
_TASKKILL = 5.0
# Seconds that the children may take to end after SIGTERM, before they are killed, and between two looks at them.
_CHILDREN_GRACE = 1.0
_PAUSE = 0.02
# `signal.CTRL_BREAK_EVENT`, which Python has on Windows alone.
_CTRL_BREAK = 1
# Seconds that an agent may take to end after its input is closed, and again after SIGTERM.
GRACE = 3.0
# Waits for the end of input. Then gives a process group as long to end by itself as `AgentProcess.stop`, sends it
# SIGTERM, waits again and kills it.
_GUARD = f"""
read -r line
for signal in TERM KILL; do
    left={GRACE * 10:.0f}
    while kill -s 0 -- "-$1" && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
    kill -s $signal -- "-$1" || exit
done
"""
_SHELL = "/bin/sh"
# Becomes the agent after a line, and ends if no line comes. A shell reads no byte further from a pipe.
_GATE = 'read -r line && exec "$@"'
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
# The environment variables that a program needs to find its parts and to write text. No others are passed on, because
# they may be keys.
_PASSED_ON = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    # The same on Windows, where Python's `os.environ` has its names in upper case.
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
    *("USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
)
# Characters. A hook answers with one line of JSON, so longer output is a mistake and is cut.
_MOST_OUTPUT = 65_536


def ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Asks the child's process group to end: by SIGTERM, or on Windows by Ctrl+Break, for console programs."""
    with suppress(OSError):
        if not this_system.end(process.pid):
            process.send_signal(_CTRL_BREAK)


async def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kills the child with every process it has started, and waits for the child's end."""
    with suppress(ProcessLookupError):
        if not this_system.end(process.pid, at_once=True):
            await _kill_tree(process)
    await process.wait()


async def _kill_tree(process: asyncio.subprocess.Process) -> None:
    with suppress(OSError, TimeoutError):
        killer = await asyncio.create_subprocess_exec(
            *("taskkill", "/T", "/F", "/PID", str(process.pid)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        async with asyncio.timeout(_TASKKILL):
            await killer.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


async def start_with_us(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Starts a child in a process group of its own, with the options of `asyncio.create_subprocess_exec`. Raises
    `OSError` if it cannot be started.

    The group is ended before a SIGTERM, SIGHUP or SIGINT ends or interrupts Ullage. A signal that has a handler already
    keeps it, but for SIGINT, whose handler is called afterwards. On Windows, and outside the main thread, where Python
    handles no signals, the child is only started.
    """
    if not this_system.ending or threading.current_thread() is not threading.main_thread():
        return await asyncio.create_subprocess_exec(*command, **options, **this_system.apart())
    for number in (*this_system.ending, signal.SIGINT):
        before = signal.getsignal(number)
        is_ours = before is signal.SIG_DFL or (number == signal.SIGINT and callable(before))
        if is_ours and number not in _state.guarded:
            _state.guarded.add(number)
            signal.signal(number, _ending(before if callable(before) else None))
    _state.starting += 1
    try:
        process = await asyncio.create_subprocess_exec(*command, **options, **this_system.apart())
        _state.running.add(process)
    finally:
        _state.starting -= 1
        _state.repeat()
    return process


class _State:
    """The children that may run, and the signals that came while one was being started and was not yet known."""

    def __init__(self) -> None:
        self.running: WeakSet[asyncio.subprocess.Process] = WeakSet()
        self.guarded: set[int] = set()
        self.starting = 0
        self.waiting: set[int] = set()

    def repeat(self) -> None:
        """Has the signals come again that could not be handled while a child was being started."""
        while self.waiting and not self.starting:
            os.kill(os.getpid(), self.waiting.pop())


_state = _State()


def _ending(then: Callable[[int, FrameType | None], object] | None) -> Callable[[int, FrameType | None], None]:
    """Returns a signal handler that ends the children, and then calls `then` or has the signal end Ullage."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _state.starting:
            _state.waiting.add(number)
            return
        groups = [process.pid for process in _state.running if process.returncode is None]
        _signal(groups)
        deadline = time.monotonic() + _CHILDREN_GRACE
        while (groups := [group for group in groups if _lives(group)]) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        _signal(groups, at_once=True)
        if then is not None:
            then(number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return handle


def _signal(groups: list[int], *, at_once: bool = False) -> None:
    for group in groups:
        with suppress(OSError):
            this_system.end(group, at_once=at_once)


def _lives(group: int) -> bool:
    """Returns whether a process of the group lives, after waiting for the child, which would stay one."""
    if sys.platform == "win32":
        return False
    with suppress(OSError):
        os.waitpid(group, os.WNOHANG)
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class AgentProcess(Struct, frozen=True, eq=False):
    """An agent that runs as a child process. `source` reads its standard output, `sink` writes to its standard input.
    Its standard error is copied to Ullage's, and the last lines of it are kept. `guard` ends it if Ullage is killed."""

    process: asyncio.subprocess.Process
    guard: asyncio.subprocess.Process | None
    source: Source
    sink: DescriptorWriter
    errors: "asyncio.Task[None]"
    last_lines: deque[str]

    async def ended(self) -> str:
        """Waits for the agent's end. Returns its status or signal in words, with the line that says why."""
        status = await self.process.wait()
        await asyncio.wait([self.errors], timeout=_REST_TIMEOUT)
        how = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
        why = last_words(self.last_lines)
        return f"{how}; its last words: {why}" if why else how

    async def stop(self) -> None:
        """Ends the agent: closes its input, then asks its process group to end, then kills the group. Waits up to 3
        seconds after each of the first two steps."""
        self.sink.close()
        if not await self._ends_in_time():
            ask_to_end(self.process)
            if not await self._ends_in_time():
                await kill_group(self.process)
        self.errors.cancel()
        if self.guard is not None:
            await kill_group(self.guard)

    async def _ends_in_time(self) -> bool:
        try:
            async with asyncio.timeout(GRACE):
                await self.process.wait()
        except TimeoutError:
            return False
        return True


async def start_agent(command: Sequence[str]) -> AgentProcess:
    """Starts an agent by its command line. Raises `InvalidRequest` if the program can't be started."""
    # What the shell would not find either is started without it, for the system's own error.
    is_guarded = bool(this_system.ending) and bool(shutil.which(_SHELL)) and bool(shutil.which(command[0]))
    gate = (_SHELL, "-c", _GATE, command[0]) if is_guarded else ()
    (given, to_agent), (from_agent, written) = os.pipe(), os.pipe()
    try:
        process = await start_with_us(*gate, *command, stdin=given, stdout=written, stderr=asyncio.subprocess.PIPE)
    except OSError as error:
        for descriptor in (to_agent, from_agent):
            os.close(descriptor)
        raise InvalidRequest(f"cannot start the agent {command[0]}: {error.strerror or error}") from error
    finally:
        os.close(given)
        os.close(written)
    guard = await _guarded(process) if is_guarded else None
    if is_guarded:
        # It may have been killed at once.
        with suppress(OSError):
            os.write(to_agent, b"\n")
    last_lines: deque[str] = deque(maxlen=_LAST_LINES)
    return AgentProcess(
        process=process,
        guard=guard,
        source=await open_source(from_agent),
        sink=DescriptorWriter(to_agent),
        errors=asyncio.ensure_future(_copy_errors(process.stderr, last_lines)),
        last_lines=last_lines,
    )


async def _guarded(process: asyncio.subprocess.Process) -> asyncio.subprocess.Process | None:
    """Starts and returns a guard of the child's group. Returns None if that fails."""
    try:
        return await asyncio.create_subprocess_exec(
            *(_SHELL, "-c", _GUARD, "ullage-guard", str(process.pid)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            **this_system.apart(),
        )
    except OSError:
        return None


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
    """Returns the last line that gives a reason, else the last that is no entry of a log, or ""."""
    said = [line for line in lines if not _FRAME.match(line)]
    reasons = [line for line in said if _REASON.search(line)]
    others = [line for line in said if not _LOG.search(line)]
    return next((found[-1] for found in (reasons, others) if found), "")


class SubprocessRunner:
    """Runs the user's own programs, for the port `CommandRunner`.

    A program that cannot be found or started, or that runs too long, gives a `CommandOutcome` with a `fault`. Programs
    get only the variables of `_PASSED_ON`, so no keys. They run in the user's home folder, because a project's folder
    may contain programs of its own. Input and output go through files: a child that the program leaves running could
    hold a pipe open, and Ullage would wait for it.
    """

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        program = _find_program(command[0])
        if program is None:
            return CommandOutcome(fault=f"there is no program {command[0]!r}; give its full path, or a name on PATH")
        with TemporaryFile() as given_file, TemporaryFile() as out, TemporaryFile() as err:
            given_file.write(given)
            given_file.seek(0)
            try:
                process = await start_with_us(
                    program,
                    *command[1:],
                    stdin=given_file,
                    stdout=out,
                    stderr=err,
                    cwd=Path.home(),
                    env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                )
            except OSError as error:
                return CommandOutcome(fault=f"{program} cannot be run: {error.strerror or error}")
            status = await _wait(process, timeout)
            if status is None:
                return CommandOutcome(fault=f"it took longer than {timeout:g} s and was stopped")
            return CommandOutcome(status=status, out=_beginning(out), err=_beginning(err))


async def _wait(process: asyncio.subprocess.Process, timeout: float) -> int | None:
    """Waits for the program's end, at most `timeout` seconds. Returns its status, or None if it was killed."""
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            await kill_group(process)


def _find_program(name: str) -> str | None:
    if Path(name).is_absolute():
        return name
    # A relative path would depend on the folder in which Ullage was started.
    return shutil.which(name) if Path(name).name == name else None


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode(errors="replace")
