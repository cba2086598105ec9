"""Ports of following: the agents' conversations that a process follows, as the doors use them."""

from collections.abc import Sequence
from typing import Protocol

from ullage.model.figure import FollowedRow


class FollowingListener(Protocol):
    """Gets the rows of followed conversations that have changed."""

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        """Called on the event loop with the rows that are new or have changed, and with the sessions that are no longer
        followed because another one took their place."""
        ...


class FollowsAgents(Protocol):
    """Following in one process: off until `start` is called."""

    @property
    def is_on(self) -> bool:
        """Whether conversations are followed now."""
        ...

    @property
    def rows(self) -> tuple[FollowedRow, ...]:
        """The followed conversations, the last changed first; none while following is off."""
        ...

    async def start(self, folders: Sequence[str]) -> None:
        """Starts following, if it is off, and reads the newest conversation of each folder, however old it is. Returns
        once these were read. Raises `StoreError`."""
        ...

    async def stop(self) -> None:
        """Stops following. The sessions stay in the store as they are."""
        ...
