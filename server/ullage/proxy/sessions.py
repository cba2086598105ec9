"""The proxied sessions of a connection, by the ids of both sides."""

from collections.abc import Iterator

from ullage.model.message import Message
from ullage.proxy.connection import Connection
from ullage.proxy.own_methods import OwnMethods
from ullage.proxy.session import ProxiedSession


class Sessions:
    """The proxied sessions of a client, by the client's session id. Iterates over the sessions.

    `connection` is that of the agent with which the client has made the handshake.
    `own_methods` answers the client's requests that are for Ullage and not for the agent.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.own_methods = OwnMethods(connection)
        self._by_id: dict[str, ProxiedSession] = {}

    def __iter__(self) -> Iterator[ProxiedSession]:
        return iter(tuple(self._by_id.values()))

    def get(self, session_id: str) -> ProxiedSession | None:
        """Returns the session with this id on the client's side, or None."""
        return self._by_id.get(session_id)

    def by_agent_id(self, agent_id: str, connection: Connection) -> ProxiedSession | None:
        """Returns the session with this id at the agent of a connection, or None."""

        def is_it(session: ProxiedSession) -> bool:
            return session.agent_id == agent_id and session.connection is connection

        session = self._by_id.get(agent_id)
        if session is not None and is_it(session):
            return session
        return next(filter(is_it, self._by_id.values()), None)

    def put(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Adds a session. If there is one with the same client's id, closes that one and returns the remaining messages
        of its last turn, to be recorded."""
        before = self._by_id.get(session.id)
        self._by_id[session.id] = session
        return before.close() if before else ()

    def drop(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Closes and removes a session. Returns the remaining messages of its last turn, to be recorded."""
        if self._by_id.get(session.id) is session:
            del self._by_id[session.id]
        return session.close()
