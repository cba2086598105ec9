"""The agents that Ullage can be added to, as a user names them, and where their settings are on this machine."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_of_word
from ullage.agents.wiring import Wiring
from ullage.model.errors import InvalidRequest


def settings_path(wiring: Wiring) -> Path:
    """Returns the file with the user's settings of an agent. It may not exist."""
    machine = Machine(system=sys.platform, home=str(Path.home()), variables=os.environ)
    return Path(wiring.settings(machine)).expanduser()


def called(words: Sequence[str]) -> list[tuple[Agent, Wiring]]:
    """Returns the agents of these words. Raises `InvalidRequest` for a word that means no agent."""
    found = list[tuple[Agent, Wiring]]()
    for word in dict.fromkeys(words):
        agent = agent_of_word(word)
        if agent is None or agent.wiring is None:
            raise InvalidRequest(
                f"{word}: Ullage can't be added to an agent of this name; known: {', '.join(known_words())}"
            )
        found.append((agent, agent.wiring))
    return found


def on_this_machine() -> list[tuple[Agent, Wiring]]:
    """Returns the agents on this machine that Ullage can be added to: those with a folder of settings."""
    return [(agent, wiring) for agent, wiring in all_known() if settings_path(wiring).parent.is_dir()]


def all_known() -> list[tuple[Agent, Wiring]]:
    """Returns all agents that Ullage can be added to."""
    return [(agent, agent.wiring) for agent in AGENTS if agent.wiring]


def known_words() -> list[str]:
    """Returns the words of all agents that Ullage can be added to."""
    return [wiring.word for _, wiring in all_known()]
