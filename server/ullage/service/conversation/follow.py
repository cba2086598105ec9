"""Following other processes: their changes to open sessions are folded and published within a second."""

import asyncio
import logging

from ullage.model.errors import SessionNotFound, StoreError
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
# Seconds between two looks at the store: short enough for a user who changes windows. If the store is unchanged, a look
# reads one number.
_EVERY = 1.0


class Follower:
    """Checks the store every second for what other processes appended, until it is stopped or the event loop ends."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._version = workspace.ports.store.version()
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts checking, on the running event loop."""
        self._next = asyncio.get_running_loop().call_later(_EVERY, self._look_again)

    def stop(self) -> None:
        """Stops checking."""
        if self._next is not None:
            self._next.cancel()

    def look(self) -> None:
        """Folds and publishes what other processes have appended to open sessions since the last check. A session that
        was deleted is closed. Raises `StoreError`."""
        version = self._workspace.ports.store.version()
        self._workspace.take_news()
        if version == self._version:
            return
        self._version = version
        for conversation in self._workspace.conversations:
            try:
                conversation.catch_up()
            except SessionNotFound:
                # Another process has deleted the session.
                self._workspace.forget(conversation.id)

    def _look_again(self) -> None:
        try:
            self.look()
        except StoreError as error:
            log.warning("Could not look at the store: %s", error)
        self.start()
