"""Starts what a hook has no time for: processes of their own, which the agent does not wait for."""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def start_worker(agent: str, store: str, session: str, path: str) -> int:
    """Starts the worker of a session of an agent, whose file is at `path`. Returns its process's id. Raises
    `OSError`."""
    return _start("worker", (agent, store, session, path, *_starters()))


def start_counting(store: str, session: str, path: str, window: int) -> int:
    """Starts counting the session in the file at `path`, for a note of its fill. `window` is that of its model, in
    tokens, or 0. Returns the process's id. Raises `OSError`."""
    named = (str(window),) if window > 0 else ()
    return _start("counting", (store, session, path, str(time.time_ns()), *named))


def _starters() -> "list[str]":
    """Returns the ids of the processes that started this one, for the worker to end with them; [] where asking for them
    takes a process of its own."""
    if sys.platform != "linux":
        return []
    from ullage.system.process_tree import ancestors  # noqa: PLC0415

    return [*map(str, ancestors(os.getpid()))]


def _start(module: str, words: "Iterable[str]") -> int:
    """Starts a module of this room. It shares no open file with this process, so nothing waits for its end."""
    # `-P`: the folder in which the agent runs may have a module of any name.
    command = [sys.executable, "-P", "-m", f"ullage.cli.hooks.{module}", *words]
    if sys.platform != "win32":
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            return os.posix_spawn(command[0], command, os.environ, file_actions=nothing, setsid=True)
        except NotImplementedError:
            # A system without POSIX_SPAWN_SETSID, such as macOS.
            pass
    import subprocess  # noqa: PLC0415

    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=sys.platform != "win32",
        creationflags=subprocess.DETACHED_PROCESS if sys.platform == "win32" else 0,
    )
    # It outlives this process; nothing is to be said of that at exit.
    process.returncode = 0
    return process.pid
