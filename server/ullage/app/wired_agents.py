"""The agents that Ullage can be added to, as a user names them, and where their settings are on this machine."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_of_word
from ullage.agents.wiring import Plugin, SettingsFile, Wiring
from ullage.model.errors import InvalidRequest
from ullage.system.wired_files import read_settings


def path_here(path: Callable[[Machine], str]) -> Path:
    """Returns a path on this machine, such as that of a settings file. There may be no file."""
    return Path(path(_this_machine())).expanduser()


def file_here(file: SettingsFile) -> Path:
    """Returns the path of a settings file on this machine: of one that is there, if the agent reads several."""
    usual = path_here(file.path)
    others = (Path(path).expanduser() for path in file.instead(_this_machine()))
    return usual if usual.exists() else next((path for path in others if path.exists()), usual)


def folder_here(wiring: Wiring) -> Path:
    """Returns the folder that the agent has for its settings on this machine, if it is here."""
    return path_here(wiring.folder) if wiring.folder else path_here(wiring.files[0].path).parent


def is_here(wiring: Wiring) -> bool:
    """Says whether the agent has a folder for its settings on this machine."""
    return folder_here(wiring).is_dir()


def _this_machine() -> Machine:
    return Machine(system=sys.platform, home=str(Path.home()), variables=os.environ)


def missing_folder(agent: Agent) -> Path | None:
    """Returns the folder for an agent's settings if it is not on this machine, so that the agent was never started
    here. Returns None if it is there, or if it is not known where it would be."""
    return None if agent.wiring is None or is_here(agent.wiring) else folder_here(agent.wiring)


def has_plugin(wiring: Wiring) -> bool:
    """Says whether the agent has Ullage as a plugin for all of the user's projects, and it is on. Raises
    `InvalidRequest` if the agent's file can't be read."""
    plugin = wiring.plugin
    return plugin is not None and _is_on(plugin, path_here(plugin.path))


def project_with_plugin(wiring: Wiring) -> Path | None:
    """Returns the file by which the agent has Ullage as a plugin in the project of this folder alone, and it is on.
    Returns None if there is none. Raises `InvalidRequest` if a file of the agent's can't be read."""
    plugin = wiring.plugin
    if plugin is None or has_plugin(wiring):
        return None
    paths = map(Path, plugin.in_projects(replace(_this_machine(), cwd=Path.cwd().as_posix())))
    return next((path for path in paths if _is_on(plugin, path)), None)


def _is_on(plugin: Plugin, path: Path) -> bool:
    return plugin.is_on((read_settings(path) or b"").decode(errors="replace"))


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
    return [(agent, wiring) for agent, wiring in all_known() if is_here(wiring)]


def all_known() -> list[tuple[Agent, Wiring]]:
    """Returns all agents that Ullage can be added to."""
    return [(agent, agent.wiring) for agent in AGENTS if agent.wiring]


def known_words() -> list[str]:
    """Returns the words of all agents that Ullage can be added to."""
    return [wiring.word for _, wiring in all_known()]
