"""The agent's sessions that the client does not see."""

import asyncio
from typing import Any

from msgspec import Struct

from ullage.model.json_values import as_object, as_text


class Aside(Struct):
    """A session of the agent that the client does not see.

    It is a copy, a fresh session before its handover is complete, or a session that the conversation has left. `text`
    collects the text of the agent's answers in it. `closing` is the task that has the agent close it,
    None while it is open. `commands` is the last update with the agent's slash commands, or None.
    """

    text: str = ""
    commands: dict[str, Any] | None = None
    closing: "asyncio.Task[None] | None" = None

    def take(self, update: dict[str, Any]) -> None:
        """Adds the text of a session update to `text` if the update is an `agent_message_chunk`, and stores a list of
        slash commands. Ignores other updates."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self.text += as_text(as_object(update.get("content")).get("text"))
            case "available_commands_update":
                self.commands = update
            case _:
                pass
