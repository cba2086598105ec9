"""Slash commands: the ones that the client is offered, and the ones that the proxy carries out itself."""

from msgspec import Struct

from ullage.agents.acp import COMPACT_COMMANDS, unlisted_compact_command
from ullage.proxy.session import ProxiedSession
from ullage.proxy.to_client import send_commands

_OWN = (
    {"name": "context", "description": "Show how full the context is"},
    {"name": "compact", "description": "Make room in the context", "input": {"hint": "what to keep above all"}},
    {"name": "undo", "description": "Take the last compaction back"},
)


class SlashCommand(Struct, frozen=True):
    """A prompt that is a command: `/name rest`."""

    name: str
    rest: str = ""


def read_command(text: str) -> SlashCommand | None:
    """The command that a prompt's first text is, if it is one."""
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    return SlashCommand(name.strip(), rest.strip())


def compacting_command(session: ProxiedSession) -> str | None:
    """The name of the agent's own command for a compaction. None if it has none, or if contexts are to be handed
    over."""
    connection = session.connection
    if connection.options.hand_over:
        return None
    offered = session.facts.command_names
    known = next((name for name in COMPACT_COMMANDS if name in offered), None)
    return known or unlisted_compact_command(connection.agent_name)


def is_ours(session: ProxiedSession, command: SlashCommand) -> bool:
    """Whether the proxy carries a command out: `/compact`, and those of ours that the agent does not have."""
    if command.name == "compact":
        return True
    return any(own["name"] == command.name for own in _OWN) and command.name not in session.facts.command_names


def offer_commands(session: ProxiedSession) -> None:
    """Offers the client the agent's commands and those that the agent lacks. Sends nothing if it lacks none."""
    offered = session.facts.command_names
    added = [own for own in _OWN if own["name"] not in offered]
    if added:
        send_commands(session, [*session.facts.commands, *added])
