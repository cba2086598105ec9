"""Messages of the proxy's own to the client. Every update that it makes is marked by `_meta.ullage`."""

from typing import Any

from ullage.api.wire import UPDATE
from ullage.jsonrpc.envelope import Notification
from ullage.model.updates import CompactionUpdate, Meta, Notice, NoticeMeta, Severity, Update
from ullage.proxy.pipe.frames import line
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.session import ProxiedSession, Sessions

_MARK: dict[str, Any] = {"ullage": {}}


class NoticeListener:
    """Listens to recorded sessions and sends their notices to the client. Figures are not sent: the client gets the
    agent's."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def session_updated(self, session_id: str, update: Update) -> None:
        """Sends a notice on."""
        session = self._sessions.get(session_id)
        if session is not None and isinstance(update, Notice):
            send_notice(session, update)


def send_update(session: ProxiedSession, update: Any) -> None:
    """Sends an update of the session, under the client's id."""
    params = {"sessionId": session.id, "update": update}
    session.connection.client.insert(line(Notification(method=UPDATE, params=params)))


def send_text(session: ProxiedSession, text: str) -> None:
    """Sends text in the place of the agent's answer."""
    content = {"type": "text", "text": text}
    send_update(session, {"sessionUpdate": "agent_message_chunk", "content": content, "_meta": _MARK})


def send_commands(session: ProxiedSession, commands: list[Any]) -> None:
    """Sends the list of slash commands that the user may give."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands, "_meta": _MARK}
    send_update(session, update)


def send_notice(session: ProxiedSession, notice: Notice) -> None:
    """Sends a notice for the user. A client that shows no notices gets it as text, but never in the middle of an
    answer: then it waits for `send_held_notices`."""
    if session.connection.shown.shows_notices:
        send_update(session, notice)
    elif session.busy:
        session.hold_notice(notice.title)
    else:
        send_text(session, f"{notice.title}\n")


def send_held_notices(session: ProxiedSession) -> None:
    """Sends the notices that have waited for the end of the answer."""
    for text in session.take_notices():
        send_text(session, f"\n\n{text}\n")


def send_usage(session: ProxiedSession, record: SessionRecord) -> None:
    """Sends how full the context is, and how that is known."""
    send_update(session, record.usage_update())


def send_compaction(session: ProxiedSession, update: CompactionUpdate) -> None:
    """Sends the beginning or the end of a compaction. A client without compactions gets nothing here: the outcome
    follows as text."""
    if session.connection.shown.shows_compactions:
        send_update(session, update)


def send_unrecorded(sessions: Sessions, reason: str) -> None:
    """Sends that nothing is recorded from here on."""
    title = f"Ullage no longer records this conversation: {reason}"
    meta = Meta(ullage=NoticeMeta(kind="unrecorded"))
    for session in sessions:
        send_notice(session, Notice(severity=Severity.WARNING, title=title, meta=meta))


async def send_history(session: ProxiedSession, record: SessionRecord) -> None:
    """Sends everything that was ever said in a session, with the compactions where they cut. Waits for room in
    between."""
    for updates in record.history():
        for update in updates:
            if isinstance(update, CompactionUpdate):
                send_compaction(session, update)
            else:
                send_update(session, update)
        await session.connection.client.drain()
