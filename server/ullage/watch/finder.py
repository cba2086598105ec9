"""What of this machine says where coding agents keep their conversations, whether a file is one of theirs, and which
processes have which conversations: agents keep files that say so while they run."""

import glob
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.host import here
from ullage.watch.candidates import own_path
from ullage.watch.file_parts import read_small


class AgentsOwnFiles:
    """The files in which agents on this machine keep their conversations; see `OwnFiles`."""

    def path_of(self, path: str) -> str:
        """Returns the path under which an agent keeps the file or folder `path`, or ""."""
        return own_path(this_machine(str(Path(path).parent.absolute())), AGENTS, path)

    def has(self, path: str) -> bool:
        """Returns whether an agent's file is there."""
        return bool(path) and os.path.exists(path)  # noqa: PTH110 - a third of the time of `Path`


def this_machine(cwd: str = "") -> Machine:
    """Returns the operating system, the home folder and the environment variables of this process, for agents' glob
    patterns. `cwd` is the folder in which the user works, or "".

    Special characters of glob patterns in the paths are escaped. If the user has no home folder, it is `/`, where no
    agent keeps files.
    """
    return _machine(glob.escape, cwd)


def machine_of_paths() -> Machine:
    """Returns the same as `this_machine` for the paths of single files: nothing is escaped."""
    return _machine(str, "")


def _machine(escaped: Callable[[str], str], cwd: str) -> Machine:
    try:
        home = str(Path.home())
    except RuntimeError:
        home = "/"
    variables = {name: escaped(_expanded(value)) for name, value in os.environ.items()}
    return Machine(system=sys.platform, home=escaped(home), variables=variables, cwd=escaped(cwd))


def _expanded(value: str) -> str:
    """Returns the value of an environment variable with `~` at its beginning replaced by the home folder."""
    return str(Path(value).expanduser()) if value.startswith(("~/", "~\\")) else value


def find_processes(machine: Machine, agents: Sequence[Agent]) -> dict[tuple[str, str], int | None]:
    """Returns the process of each conversation that an agent's file names, by the agent's name and its own id of the
    conversation. The process is None if it has ended. Blocks while it reads the disk; raises no error for a file."""
    found: dict[tuple[str, str], int | None] = {}
    for agent in agents:
        if agent.processes is None:
            continue
        for pattern in agent.processes.patterns(machine):
            for path in glob.iglob(pattern):  # noqa: PTH207  (as in `candidates.py`)
                with suppress(OSError):
                    running = agent.processes.running_in(path.replace(os.sep, "/"), read_small(Path(path)))
                    if running is None:
                        continue
                    key = agent.name, running.session_id
                    runs = here.runs(running.process_id)
                    # A conversation may also have a file that a killed process has left.
                    found[key] = running.process_id if runs else found.get(key)
    return found
