"""The slash commands that the client is offered, and those that the proxy handles itself."""

import asyncio

from msgspec import Struct

from ullage.agents.acp import COMPACT_COMMANDS, unlisted_compact_command
from ullage.model.json_values import JsonObject
from ullage.proxy.session import ProxiedSession
from ullage.proxy.to_client import send_commands

# Seconds that an agent has to send its list of commands before ours are offered alone. The agents that were measured
# send the list within some tenths of a second.
_COMMANDS_PATIENCE = 1.0
_OWN: tuple[JsonObject, ...] = (
    {"name": "context", "description": "Show how full the context is"},
    {"name": "compact", "description": "Make room in the context", "input": {"hint": "what to keep above all"}},
    {"name": "undo", "description": "Take the last compaction back"},
)


CONTINUE_IN = "continue-in"


class SlashCommand(Struct, frozen=True):
    """A slash command in a prompt, `/name rest`. `name` has no slash."""

    name: str
    rest: str = ""


def read_command(text: str) -> SlashCommand | None:
    """Returns the slash command in the first text of a prompt, or None if the text doesn't begin with a slash."""
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    return SlashCommand(name.strip(), rest.strip())


def compacting_command(session: ProxiedSession) -> str | None:
    """Returns the name, without the slash, of the agent's own compacting command.

    Returns None if the agent has none, or if the proxy's options demand handovers.
    """
    connection = session.connection
    if connection.options.hand_over:
        return None
    offered = session.facts.command_names
    known = next((name for name in COMPACT_COMMANDS if name in offered), None)
    return known or unlisted_compact_command(connection.agent_name)


def is_ours(session: ProxiedSession, command: SlashCommand) -> bool:
    """Returns whether the proxy handles a slash command: `/compact`, and the others of its own unless the agent has a
    command of that name."""
    if command.name == "compact":
        return True
    return any(own["name"] == command.name for own in _own(session)) and command.name not in session.facts.command_names


def offer_commands(session: ProxiedSession) -> None:
    """Sends the client the agent's slash commands together with those of the proxy that the agent lacks.

    Sends nothing if the agent lacks none of them.
    """
    if any(own["name"] not in session.facts.command_names for own in _own(session)):
        _list(session)


def list_commands(session: ProxiedSession) -> None:
    """Sends the client the slash commands of a session that the proxy has had opened for it: of the agent's list it has
    seen nothing. If the agent has not sent the list yet, waits 1 second for it."""
    if session.facts.has_commands:
        _list(session)
    else:
        session.connection.spawn(offer_late(session))


async def offer_late(session: ProxiedSession) -> None:
    """Sends the client the proxy's slash commands after 1 second, unless the agent has sent its list, to which they are
    added."""
    await asyncio.sleep(_COMMANDS_PATIENCE)
    if not session.facts.has_commands:
        offer_commands(session)


def _list(session: ProxiedSession) -> None:
    added = [own for own in _own(session) if own["name"] not in session.facts.command_names]
    send_commands(session, [*session.facts.commands, *added])


def _own(session: ProxiedSession) -> list[JsonObject]:
    others = [one for one in session.connection.agents if one is not session.connection]
    hint = " or ".join(one.short_name for one in others)
    continues: JsonObject = {
        "name": CONTINUE_IN,
        "description": "Continue this conversation in another agent",
        "input": {"hint": hint},
    }
    return [*_OWN, *([continues] if others else [])]
