"""Port of receipts: what hooks gave back to agents after compactions."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class GivenBack(Struct, frozen=True, kw_only=True):
    """A text that a hook gave an agent, `at` a time in Unix milliseconds.

    `why` is `compact` at the restart after a compaction, `resume` when the session was resumed, `prompt` at the next
    prompt, and `fill` for a note of how full the context is. `counts` has how many losses of each kind are in the text.
    `characters` are UTF-16 units, `tokens` an estimate.
    """

    at: int
    why: str
    counts: dict[str, int]
    characters: int
    tokens: int
    text: str


class ReadsReceipts(Protocol):
    """Reads what hooks gave back to the session to which its agent gave this id."""

    def __call__(self, agent_session_id: str, /) -> Sequence[GivenBack]:
        """Returns the receipts that are kept, the oldest first."""
        ...


class RemovesTraces(Protocol):
    """Removes what is kept of an agent's session outside the store of sessions."""

    def __call__(self, agent_session_id: str, path: str, /) -> None:
        """Removes what belongs to the session to which its agent gave this id, in the agent's file at `path`, but not
        what the archive has."""
        ...

    def remove_kept(self, agent_session_id: str, path: str, /) -> None:
        """Removes what the archive has of it. Blocks, and may be called from any thread. Raises `StoreError`."""
        ...


class NoTraces:
    """Removes nothing: in a process that keeps nothing next to its store."""

    def __call__(self, _: str, __: str, /) -> None:
        pass

    def remove_kept(self, _: str, __: str, /) -> None:
        pass


def no_receipts(_: str, /) -> Sequence[GivenBack]:
    """Reads nothing: in a process that knows of no hooks."""
    return ()
