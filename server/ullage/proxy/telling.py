"""What the proxy tells the client of its own. Every update of ours is marked by `_meta.ullage`."""

from typing import Any

from ullage.acp.replay import message_updates
from ullage.api.notification import UPDATE
from ullage.jsonrpc.envelope import Notification
from ullage.model.updates import CompactionUpdate, Meta, Notice, NoticeMeta, Severity, Update
from ullage.proxy.connection import Connection
from ullage.proxy.pipe.frames import line
from ullage.proxy.session import ProxiedSession
from ullage.service.conversation.pages import transcript_page
from ullage.service.conversation.usage import usage_update
from ullage.service.conversation.workspace import Workspace

# Messages that are read and told at a time.
_PAGE = 100
_MARK: dict[str, Any] = {"ullage": {}}


class ClientListener:
    """Hears what happens in recorded sessions. Figures are not for the client: it is told the agent's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def session_updated(self, session_id: str, update: Update) -> None:
        """Passes notices on."""
        session = self._connection.sessions.get(session_id)
        if session is not None and isinstance(update, Notice):
            tell_notice(self._connection, session, update)


def tell(connection: Connection, session: ProxiedSession, update: Any) -> None:
    """An update of the client's session."""
    params = {"sessionId": session.id, "update": update}
    connection.client.insert(line(Notification(method=UPDATE, params=params)))


def say(connection: Connection, session: ProxiedSession, text: str) -> None:
    """Words in the place of the agent's."""
    content = {"type": "text", "text": text}
    tell(connection, session, {"sessionUpdate": "agent_message_chunk", "content": content, "_meta": _MARK})


def tell_notice(connection: Connection, session: ProxiedSession, notice: Notice) -> None:
    """A line for the person; words for a client that shows no notices, but never in the middle of an answer."""
    if connection.shown.shows_notices:
        tell(connection, session, notice)
    elif session.busy:
        session.held.append(notice.title)
    else:
        say(connection, session, f"{notice.title}\n")


def tell_held(connection: Connection, session: ProxiedSession) -> None:
    """The words that waited for the end of the answer."""
    for text in session.held:
        say(connection, session, f"\n\n{text}\n")
    session.held.clear()


def tell_usage(connection: Connection, session: ProxiedSession, workspace: Workspace) -> None:
    """How full the context is, with what is known of how that is known."""
    tell(connection, session, usage_update(workspace.open(session.id)))


def tell_compaction(connection: Connection, session: ProxiedSession, update: CompactionUpdate) -> None:
    """A compaction of ours begins or ends. A client without compactions is told the outcome in words by others."""
    if connection.shown.shows_compactions:
        tell(connection, session, update)


def tell_unrecorded(connection: Connection, reason: str) -> None:
    """From here on nothing is recorded."""
    title = f"Ullage no longer records this conversation: {reason}"
    meta = Meta(ullage=NoticeMeta(kind="unrecorded"))
    for session in connection.sessions.values():
        tell_notice(connection, session, Notice(severity=Severity.WARNING, title=title, meta=meta))


async def tell_history(connection: Connection, session: ProxiedSession, workspace: Workspace) -> None:
    """Everything that was ever said in a session, as it was recorded, with the compactions where they cut."""
    conversation, describe = workspace.open(session.id), workspace.ports.toolbox.describe
    start, total = 0, 1
    while start < total:
        page = transcript_page(conversation, start, _PAGE)
        for entry in page.entries:
            for update in message_updates(entry.message, describe):
                if isinstance(update, CompactionUpdate):
                    tell_compaction(connection, session, update)
                else:
                    tell(connection, session, update)
        await connection.client.drain()
        start, total = start + _PAGE, page.total
