"""What of this machine says where coding agents keep their conversations, and whether a file is one of theirs."""

import glob
import os
import sys
from collections.abc import Callable
from pathlib import Path

from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.watch.candidates import own_path


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
