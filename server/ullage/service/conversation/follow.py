"""Following other processes: what they append to open sessions is published here a moment later."""

import asyncio
import logging

from ullage.model.errors import SessionNotFound, StoreError
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
# Seconds between two looks: soon enough for a user who turns from one window to the other. A look at an unchanged store
# reads one number.
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
        """Takes in what was appended elsewhere since the last look. Raises `StoreError`."""
        version = self._workspace.ports.store.version()
        if version == self._version:
            return
        self._version = version
        for conversation in self._workspace.conversations:
            try:
                conversation.catch_up()
            except SessionNotFound:
                # Deleted elsewhere.
                self._workspace.forget(conversation.id)

    def _look_again(self) -> None:
        try:
            self.look()
        except StoreError as error:
            log.warning("Could not look at the store: %s", error)
        self.start()
