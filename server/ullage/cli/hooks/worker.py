"""The worker of a session: computes a brief while the agent writes its summary, and leaves it for a hook.

It is a process of its own, started by the first hook of a compaction, because its imports and the reading of a long
transcript take longer than a hook may. It ends when its brief was given, when its agent ends, and at the latest after
its time. Every hook imports this module, to start it.
"""

import os
import sys
import time
from _thread import start_new_thread

from ullage.cli.hooks.kept import Kept
from ullage.cli.statusline.files import runs
from ullage.system.process_tree import ancestors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds. A model writes the summary of a long conversation in a few minutes.
_LIFE = 300
# Seconds for which the worker stays after a brief that no hook takes: an agent may ask its model for another summary.
_LINGER = 10
# Seconds between two looks at the files. The agent waits for the brief, so this is short.
_STEP = 0.01
# Seconds between two looks at the agent's process.
_WATCH = 0.5
# Seconds after a hook's end in which the shell that ran it ends, too.
_SETTLES = 2
# `-P`: the folder in which the agent runs may have a module of any name.
_PROGRAM = ("-P", "-m", "ullage.cli.hooks.worker")


def start_worker(agent: str, store: str, session: str, path: str) -> int:
    """Starts the worker of a session of an agent, whose file is at `path`. Returns its process's id. It shares no open
    file with this process, so nothing waits for its end. Raises `OSError`."""
    starters = map(str, ancestors(os.getpid())) if sys.platform == "linux" else ()
    command = [sys.executable, *_PROGRAM, agent, store, session, path, *starters]
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


def main(words: "Sequence[str]") -> None:
    """Works for one compaction: `words` are the agent's word, the store, the session, the agent's file, and the ids of
    the processes that started the worker, the hook's own first."""
    agent, store, session, path, *starters = words
    kept = Kept(store, session)
    # The hook that started it may not have come to it.
    kept.set_worker(os.getpid())
    if sys.platform != "win32":
        import signal  # noqa: PLC0415

        # Ends the process even while a long call holds the interpreter.
        signal.alarm(_LIFE + 2 * _LINGER)
    start_new_thread(_end_in_time, (kept, _Agent([int(word) for word in starters])))
    try:
        _work(agent, path, kept)
    finally:
        kept.end_worker()


def _work(agent: str, path: str, kept: Kept) -> None:
    """Reads the agent's file, and answers each summary until no more come."""
    # Imports the readers of transcripts.
    from ullage.cli.hooks.giving_back import BriefWriter  # noqa: PLC0415

    writer = BriefWriter(agent, path)
    until, answered = time.monotonic() + _LIFE, False
    while time.monotonic() < until and kept.worker() == os.getpid():
        since, summary = kept.owed(), kept.take_summary()
        if summary is not None:
            brief = writer.answer(summary, since)
            if not kept.is_asked():
                kept.leave(brief)
            until, answered = time.monotonic() + _LINGER, True
        elif answered and not kept.has_brief() and not kept.is_asked():
            return
        time.sleep(_STEP)


def _end_in_time(kept: Kept, agent: "_Agent") -> None:
    """Ends this process when its time is over or no hook can come for its brief, whatever it is doing."""
    until = time.monotonic() + _LIFE + _LINGER
    while time.monotonic() < until and not agent.is_gone() and kept.worker() == os.getpid():
        time.sleep(_WATCH)
    kept.end_worker()
    os._exit(0)


class _Agent:
    """The agent's process: the nearest of the processes around a hook that continues after the hook. `starters` are the
    hook's process, its parent, and so on; on systems that do not show them there are none, and nothing is known of the
    agent."""

    def __init__(self, starters: "Sequence[int]") -> None:
        self._starters = starters
        self._hook_ran = time.monotonic()
        self._agent = 0

    def is_gone(self) -> bool:
        """Returns whether the agent is known to have ended."""
        if not self._starters:
            return False
        if self._agent:
            return not runs(self._agent)
        if runs(self._starters[0]):
            self._hook_ran = time.monotonic()
        elif time.monotonic() > self._hook_ran + _SETTLES:
            self._agent = next((process for process in self._starters[1:] if runs(process)), os.getpid())
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
