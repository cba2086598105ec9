"""Spells the names of methods for each language, and names the agents that commands are made for."""

from ullage.agents.table import AGENTS, word_of


def constant(method: str) -> str:
    """Spells `session/append` as `SessionAppend`, `session/request_permission` as `SessionRequestPermission` and
    `context/givenBack` as `ContextGivenBack`."""
    return "".join(part[:1].upper() + part[1:] for part in method.replace("_", "/").split("/"))


def writable_agents() -> list[tuple[str, str]]:
    """Returns the word in commands and the name of each agent whose sessions can be written."""
    return [(word_of(agent), agent.name) for agent in AGENTS if agent.writer]
