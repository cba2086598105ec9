"""Sends the proxy's own messages to the client. Updates that the proxy makes contain `_meta.ullage`."""

from typing import Any

from ullage.api.wire import UPDATE
from ullage.jsonrpc.envelope import Notification
from ullage.model.updates import CompactionUpdate, Meta, Notice, NoticeMeta, Severity, Update
from ullage.proxy.pipe.frames import line
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.session import ProxiedSession
from ullage.proxy.sessions import Sessions

_MARK: dict[str, Any] = {"ullage": {}}


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


def send_commands(session: ProxiedSession, commands: list[Any]) -> None:
    """Sends the client the list of slash commands that the user can use, in ACP's form."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands, "_meta": _MARK}
    send_update(session, update)


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
        session.hold_notice(notice.title)
    else:
        send_text(session, f"{notice.title}\n")


def send_held_notices(session: ProxiedSession) -> None:
    """Sends the client, as text, the notices that waited for the end of the agent's answer."""
    for text in session.take_notices():
        send_text(session, f"\n\n{text}\n")


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
