"""Keeps the list of the files that were read whole, so that the next follower reads only what has changed."""

import logging

from ullage.model.errors import StoreError
from ullage.service.ports.agent_files import FoundFile, ReadFile, ReadFiles

log = logging.getLogger(__name__)
# Seconds between two writes of the list. What is not in it when the process dies is read again.
_WRITE_EVERY = 5.0
# Files in the list. Those that are read again because they are not in it are the ones that were read first.
_MOST = 5_000


class ReadFilesKept:
    """The list as it is now, and as it is written. `begin` is called when this process follows, once."""

    def __init__(self, files: ReadFiles) -> None:
        self._files = files
        self._known: dict[tuple[str, str], ReadFile] = {}
        self._has_changed = False
        self._written_at = 0.0

    def begin(self) -> None:
        """Reads the list."""
        self._known = {(one.path, one.origin_id): one for one in self._files.read()}

    def take(self, found: FoundFile) -> ReadFile | None:
        """Removes a file from the list and returns what was known of it, or None."""
        known = self._known.pop((str(found.path), found.origin_id), None)
        self._has_changed |= known is not None
        return known

    def note(self, found: FoundFile, read: ReadFile) -> None:
        """Adds a file that was read whole."""
        self._known[str(found.path), found.origin_id] = read
        self._has_changed = True

    @property
    def due(self) -> float | None:
        """The time in seconds at which the list is to be written; None if it has not changed."""
        return self._written_at + _WRITE_EVERY if self._has_changed else None

    def write_sometimes(self, now: float) -> None:
        """Writes the list if it has changed, unless it was written just now. `now` is a time in seconds."""
        if self.due is not None and now >= self.due:
            self._written_at = now
            self.write()

    def write(self) -> None:
        """Writes the list if it has changed. A failure is logged: the list only saves work."""
        if not self._has_changed:
            return
        try:
            self._files.write(tuple(self._known.values())[-_MOST:])
        except StoreError as error:
            log.info("the list of files that were read is not written: %s", error)
        self._has_changed = False
