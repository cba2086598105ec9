"""What other processes do to open sessions, told here a moment later: what is said at one door shows at the other."""

import asyncio
import logging

from ullage.model.errors import SessionNotFound, StoreError
from ullage.model.updates import SessionInfoUpdate
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
# Between two looks, seconds: soon enough for a person who turns from one window to the other. A look at an unchanged
# store reads one number.
_EVERY = 1.0


class Follower:
    """Looks at the store as long as the event loop runs, or until it is stopped."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._version = workspace.ports.store.version()
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begins, on the running loop."""
        self._next = asyncio.get_running_loop().call_later(_EVERY, self._look_again)

    def stop(self) -> None:
        """Ends it."""
        if self._next is not None:
            self._next.cancel()

    def look(self) -> None:
        """Tells how full each open session is that has grown elsewhere since the last look. Raises `StoreError`."""
        version = self._workspace.ports.store.version()
        if version == self._version:
            return
        self._version = version
        for session in self._workspace.open_sessions:
            self._look_at(session)

    def _look_at(self, session: Session) -> None:
        position, title = session.transcript.position, session.transcript.title
        try:
            now = self._workspace.session(session.id)
        except SessionNotFound:
            # Deleted elsewhere.
            self._workspace.forget(session.id)
            return
        if now.transcript.position == position:
            return
        if now.transcript.title != title:
            self._workspace.emit(session.id, SessionInfoUpdate(title=now.transcript.title))
        tell_usage(self._workspace, now)

    def _look_again(self) -> None:
        try:
            self.look()
        except StoreError as error:
            log.warning("Could not look at the store: %s", error)
        self.start()
