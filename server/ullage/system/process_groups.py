"""Child processes that can be ended together with every process they have started.

On POSIX such a child leads its own session, and signals go to its process group. Windows has process groups for console
events alone, so there the process tree is ended by `taskkill`, which is part of Windows.
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TypedDict

# Seconds that `taskkill` may take. After that, only the child itself is killed.
_TASKKILL = 5.0


class GroupOptions(TypedDict, total=False):
    """The keyword arguments of `asyncio.create_subprocess_exec` that put a child into a group of its own."""

    start_new_session: bool
    creationflags: int


def own_group() -> GroupOptions:
    """Returns the keyword arguments that make a child the leader of its own process group, which differ by operating
    system."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Asks the child's process group to end: by SIGTERM, or on Windows by Ctrl+Break, which only reaches console
    programs. Returns at once."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            os.killpg(process.pid, signal.SIGTERM)


async def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kills the child with every process it has started, and waits for the child's end."""
    if sys.platform == "win32":
        await _kill_tree(process)
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
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
