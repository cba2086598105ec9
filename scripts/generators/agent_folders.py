"""Where agents keep conversations: enough for an editor to see without a server whether there are any."""

import re
from collections.abc import Iterator, Mapping

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS


class Names(Mapping[str, str]):
    """Environment variables by which agents name their folders, each with its own name as its value."""

    def __getitem__(self, key: str) -> str:
        if not key:
            raise KeyError(key)  # A place without a variable has an empty name.
        return f"${{{key}}}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def agent_folders() -> Mapping[str, list[str]]:
    """Returns the folders in which agents keep conversations, by `sys.platform`. They begin with `~` or with an
    environment variable, as `${NAME}`."""
    return {system: sorted(_places(system)) for system in ("linux", "darwin", "win32")}


def in_lua() -> str:
    """Returns these folders as the module that Neovim's plugin reads."""
    lines = list[str]()
    for system, places in agent_folders().items():
        lines += [f"  {system} = {{", *(f"    '{place}'," for place in places), "  },"]
    head = "-- Generated from the server's structs by scripts/gen_protocol.py. Do not edit."
    return "\n".join((head, "---@type table<string, string[]>", "return {", *lines, "}", ""))


def folders_of(agent: Agent, machine: Machine) -> list[str]:
    """Returns the folders in which an agent keeps conversations on a machine: its patterns up to the first wildcard."""
    places = agent.sessions.patterns(machine) if agent.sessions else ()
    return list(dict.fromkeys(re.split(r"/[^/]*[*?\[]", place)[0] for place in places))


def _places(system: str) -> set[str]:
    variables: tuple[Mapping[str, str], ...] = ({}, Names())
    machines = (Machine(system=system, home="~", variables=named) for named in variables)
    return {
        place
        for machine in machines
        for agent in AGENTS
        for place in folders_of(agent, machine)
        # VS Code makes these folders for every user.
        if not place.endswith("/workspaceStorage") and "emptyWindowChatSessions" not in place
    }
