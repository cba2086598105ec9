"""Slash commands: which the client is offered, and which of them are the proxy's to carry out."""

from typing import Any

from msgspec import Struct

from ullage.agents.acp import COMPACT_COMMANDS, unlisted_compact_command
from ullage.model.json_values import as_objects, as_text
from ullage.proxy.connection import Connection
from ullage.proxy.session import ProxiedSession
from ullage.proxy.telling import tell

_OWN = (
    {"name": "context", "description": "Show how full the context is"},
    {"name": "compact", "description": "Make room in the context", "input": {"hint": "what to keep above all"}},
    {"name": "undo", "description": "Take the last compaction back"},
)


class Command(Struct, frozen=True):
    """A prompt that is a command: `/name rest`."""

    name: str
    rest: str = ""


def read_command(text: str) -> Command | None:
    """The command that a prompt is, if it is one."""
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    return Command(name.strip(), rest.strip())


def compacting_command(connection: Connection, session: ProxiedSession) -> str | None:
    """The agent's own command for a compaction, unless contexts are to be handed over."""
    if connection.options.hand_over:
        return None
    offered = _names(session)
    known = next((name for name in COMPACT_COMMANDS if name in offered), None)
    return known or unlisted_compact_command(connection.agent_name)


def is_ours(session: ProxiedSession, command: Command) -> bool:
    """Whether the proxy carries it out: the agent has no such command."""
    if command.name == "compact":
        return True
    return any(own["name"] == command.name for own in _OWN) and command.name not in _names(session)


def tell_commands(connection: Connection, session: ProxiedSession) -> None:
    """Offers the agent's commands and those that it lacks; nothing where it lacks none."""
    offered = _names(session)
    added = [own for own in _OWN if own["name"] not in offered]
    if added:
        update: dict[str, Any] = {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [*session.commands, *added],
            "_meta": {"ullage": {}},
        }
        tell(connection, session, update)


def _names(session: ProxiedSession) -> set[str]:
    return {as_text(command.get("name")) for command in as_objects(session.commands)}
