"""Sends the proxy's own messages to the client: updates, which contain `_meta.ullage`, and lists of slash commands."""

import asyncio
from typing import Any

from msgspec import Struct

from ullage.agents.acp import COMPACT_COMMANDS, unlisted_compact_command
from ullage.api.protocol import UPDATE
from ullage.jsonrpc.envelope import Notification
from ullage.model.json_values import JsonObject
from ullage.model.updates import CompactionUpdate, Meta, Notice, NoticeMeta, Severity, Update
from ullage.proxy.lines import line
from ullage.proxy.record import SessionRecord
from ullage.proxy.session import ProxiedSession, Sessions

_MARK: dict[str, Any] = {"ullage": {}}
# Seconds that an agent has to send its list of commands before ours are offered alone. The agents that were measured
# send the list within some tenths of a second.
_COMMANDS_PATIENCE = 1.0
_OWN: tuple[JsonObject, ...] = (
    {"name": "context", "description": "Show how full the context is"},
    {"name": "compact", "description": "Make room in the context", "input": {"hint": "what to keep above all"}},
    {"name": "undo", "description": "Take the last compaction back"},
)
CONTINUE_IN = "continue-in"


class NoticeListener:
    """Listens to the workspace and sends the notices of proxied sessions to the client.

    Updates of the context's size are not sent, because the agent sends its own.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def session_updated(self, session_id: str, update: Update) -> None:
        """Sends the update to the client if it is a notice of a session that the client has open. Ignores other
        updates."""
        session = self._sessions.get(session_id)
        if session is not None and isinstance(update, Notice):
            send_notice(session, update)


def send_update(session: ProxiedSession, update: Any) -> None:
    """Sends the client a session update, given in version 1's shape, with the client's session id."""
    shaped = session.connection.shapes.update(update)
    if shaped is not None:
        params = {"sessionId": session.id, "update": shaped}
        session.connection.client.insert(line(Notification(method=UPDATE, params=params)))


def send_text(session: ProxiedSession, text: str) -> None:
    """Sends the client text that it shows as the agent's answer."""
    content = {"type": "text", "text": text}
    send_update(session, {"sessionUpdate": "agent_message_chunk", "content": content, "_meta": _MARK})


def send_options(session: ProxiedSession) -> None:
    """Sends the client the config options of the agent that the conversation has moved to, if it has any."""
    if session.facts.options:
        options = {"sessionUpdate": "config_option_update", "configOptions": session.facts.options, "_meta": _MARK}
        send_update(session, options)


def send_notice(session: ProxiedSession, notice: Notice) -> None:
    """Sends the client a notice for the user.

    A client that can't show notices gets the title as text. While the agent answers, that text waits until
    `send_held_notices`.
    """
    if session.connection.shown.shows_notices:
        send_update(session, notice)
    elif session.busy:
        session.notices.append(notice.title)
    else:
        send_text(session, f"{notice.title}\n")


def send_held_notices(session: ProxiedSession) -> None:
    """Sends the client, as text, the notices that waited for the end of the agent's answer."""
    while session.notices:
        send_text(session, f"\n\n{session.notices.pop(0)}\n")


def send_usage(session: ProxiedSession, record: SessionRecord) -> None:
    """Sends the client the context's size in tokens, and whether the figure is reported, stale or estimated."""
    send_update(session, record.usage_update())


def send_compaction(session: ProxiedSession, update: CompactionUpdate) -> None:
    """Sends the client the beginning or the end of a compaction.

    A client that can't show compactions is sent nothing, because the callers send it the outcome as text.
    """
    if session.connection.shown.shows_compactions:
        send_update(session, update)


def send_unrecorded(sessions: Sessions, reason: str) -> None:
    """Sends the client, in each session, a notice that nothing is recorded from now on. `reason` is why."""
    title = f"Ullage no longer records this conversation: {reason}"
    meta = Meta(ullage=NoticeMeta(kind="unrecorded"))
    for session in sessions:
        send_notice(session, Notice(severity=Severity.WARNING, title=title, meta=meta))


async def send_history(session: ProxiedSession, record: SessionRecord) -> None:
    """Sends the client the session's whole transcript, with compactions at their places. Waits until the client has
    room after each page."""
    for updates in record.history():
        for update in updates:
            if isinstance(update, CompactionUpdate):
                send_compaction(session, update)
            else:
                send_update(session, update)
        await session.connection.client.drain()


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
    update = {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [*session.facts.commands, *added],
        "_meta": _MARK,
    }
    send_update(session, update)


def _own(session: ProxiedSession) -> list[JsonObject]:
    others = [one for one in session.connection.agents if one is not session.connection]
    hint = " or ".join(one.short_name for one in others)
    continues: JsonObject = {
        "name": CONTINUE_IN,
        "description": "Continue this conversation in another agent",
        "input": {"hint": hint},
    }
    return [*_OWN, *([continues] if others else [])]
