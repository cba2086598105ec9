"""Following other processes: their changes to open sessions are folded and published within a second."""

import logging
from contextlib import AbstractContextManager

from ullage.model.errors import SessionNotFound, StoreError
from ullage.service.background import repeated
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
# Seconds between two looks at the store: short enough for a user who changes windows. If the store is unchanged, a look
# reads one number.
_EVERY = 1.0


class Follower:
    """Checks the store every second for what other processes appended."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._version = workspace.ports.store.version()

    def running(self) -> AbstractContextManager[None]:
        """Checks, on the running event loop, while the block runs."""
        return repeated(self._step, _EVERY)

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

    async def _step(self) -> float:
        try:
            self.look()
        except StoreError as error:
            log.warning("Could not look at the store: %s", error)
        return _EVERY
