"""The agents that Ullage can be added to, as a user names them, and where their settings are on this machine."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_of_word
from ullage.agents.wiring import Wiring
from ullage.model.errors import InputError


def settings_path(wiring: Wiring) -> Path:
    """Returns the file with the user's settings of an agent. It may not exist."""
    machine = Machine(system=sys.platform, home=str(Path.home()), variables=os.environ)
    return Path(wiring.settings(machine)).expanduser()


def named(words: Sequence[str]) -> list[tuple[Agent, Wiring]]:
    """Returns the agents of these words, or without words those that are on this machine. Raises `InputError` if there
    is none, or for a word that means no agent."""
    found = list[tuple[Agent, Wiring]]()
    for word in dict.fromkeys(words):
        agent = agent_of_word(word)
        if agent is None or agent.wiring is None:
            raise InputError(f"{word}: Ullage can't be added to an agent of this name; known: {', '.join(_words())}")
        found.append((agent, agent.wiring))
    found = found or [(agent, wiring) for agent, wiring in all_known() if settings_path(wiring).parent.is_dir()]
    if not found:
        raise InputError(f"no agent is here that Ullage can be added to; known: {', '.join(_words())}")
    return found


def all_known() -> list[tuple[Agent, Wiring]]:
    """Returns all agents that Ullage can be added to."""
    return [(agent, agent.wiring) for agent in AGENTS if agent.wiring]


def _words() -> list[str]:
    return [wiring.word for _, wiring in all_known()]
