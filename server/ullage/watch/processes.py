"""Finds which processes have which conversations, from the files that agents keep while they run."""

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.host import here
from ullage.watch.file_parts import read_small


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
