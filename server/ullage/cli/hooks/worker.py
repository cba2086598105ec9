"""The worker of a session: computes a brief while the agent writes its summary, and leaves it for a hook.

It is a process of its own, started by the first hook of a compaction, because its imports and the reading of a long
transcript take longer than a hook may. It ends when its brief was given, when its agent ends, and at the latest after
its time.
"""

import os
import sys
import time
from _thread import start_new_thread
from collections.abc import Sequence

from ullage.cli.hooks.hook_state import HookState
from ullage.host import this_system

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


def main(words: Sequence[str]) -> None:
    """Works for one compaction: `words` are the agent's word, the store, the session, the agent's file, and the ids of
    the processes that started the worker, the hook's own first."""
    agent, store, session, path, *starters = words
    kept = HookState(store, session)
    # The hook that started it may not have come to it.
    kept.set_worker(os.getpid())
    this_system.end_self_after(_LIFE + 2 * _LINGER)
    start_new_thread(_end_in_time, (kept, _Agent([int(word) for word in starters])))
    try:
        _work(agent, session, path, kept)
    finally:
        kept.end_worker()


def _work(agent: str, session: str, path: str, kept: HookState) -> None:
    """Reads the agent's file, and answers each summary until no more come."""
    # Imports the readers of transcripts.
    from ullage.cli.hooks.make_brief import BriefWriter, takes_guide  # noqa: PLC0415

    if not takes_guide(agent):
        # The hook does not wait if its agent takes no guide.
        kept.leave_guide(b"{}")
    writer = BriefWriter(agent, path, session)
    if takes_guide(agent):
        kept.leave_guide(writer.guide())
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


def _end_in_time(kept: HookState, agent: "_Agent") -> None:
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

    def __init__(self, starters: Sequence[int]) -> None:
        self._starters = starters
        self._hook_ran = time.monotonic()
        self._agent = 0

    def is_gone(self) -> bool:
        """Returns whether the agent is known to have ended."""
        if not self._starters:
            return False
        if self._agent:
            return not this_system.runs(self._agent)
        if this_system.runs(self._starters[0]):
            self._hook_ran = time.monotonic()
        elif time.monotonic() > self._hook_ran + _SETTLES:
            self._agent = next((process for process in self._starters[1:] if this_system.runs(process)), os.getpid())
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
