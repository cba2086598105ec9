"""Which stored sessions are sub-agents' conversations, and under which session they are shown.

A user talks to the agent that starts sub-agents, not to these. So where one conversation is chosen or few are listed,
those of sub-agents are left out. One whose parent is not stored is not: then nothing else would show its work.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Self

from ullage.service.ports.store import ImportedSession, SessionInfo, SessionStore


class SubAgents:
    """The sub-agents' conversations among sessions that were imported. `imported` has the last created first; of
    several sessions that were imported from one conversation, the last created is the parent."""

    def __init__(self, imported: Sequence[ImportedSession]) -> None:
        by_origin: dict[tuple[str, str], str] = {}
        for one in imported:
            by_origin.setdefault((one.agent, one.origin_id), one.session_id)
        self._parents: dict[str, str] = {}
        self._nameless: set[str] = set()
        for one in imported:
            if not one.is_sub_agent:
                continue
            if not one.parent_id:
                self._nameless.add(one.session_id)
            elif parent := by_origin.get((one.agent, one.parent_id)):
                self._parents[one.session_id] = parent

    @classmethod
    def of(cls, store: SessionStore) -> Self:
        """Returns the sub-agents' sessions of a store. Raises `StoreError`."""
        return cls(store.imported())

    @property
    def left_out(self) -> frozenset[str]:
        """The sessions that are left out: their parent is stored, or the agent does not say which it is."""
        return frozenset({*self._parents, *self._nameless})

    def shown_under(self, session_id: str) -> str | None:
        """Returns the session under which a sub-agent's is shown, or None if it is shown by itself."""
        return self._parents.get(session_id)

    def list_parents(self, store: SessionStore, cwd: str | None, limit: int) -> Sequence[SessionInfo]:
        """Returns sessions as `list_main` does, without those that are shown under another one."""
        return _list(store, self._parents.keys(), cwd, limit, 0)

    def children(self, session_id: str) -> list[str]:
        """Returns the sessions that are shown under this one: its sub-agents', and theirs, each once."""
        found: list[str] = []
        new = [session_id]
        while new:
            # Files that name each other as parents are damaged, but must not hang a list.
            new = [child for child, parent in self._parents.items() if parent in new and child not in found]
            new = [child for child in new if child != session_id]
            found += new
        return found


def list_main(store: SessionStore, cwd: str | None, limit: int, offset: int = 0) -> tuple[SessionInfo, ...]:
    """Returns sessions as `SessionStore.list` does, without those of sub-agents that are left out and without those
    that have neither a message nor a title: editors start a session when they open. Raises `StoreError`."""
    return _list(store, SubAgents.of(store).left_out, cwd, limit, offset)


def _list(
    store: SessionStore, left_out: AbstractSet[str], cwd: str | None, limit: int, offset: int
) -> tuple[SessionInfo, ...]:
    shown = (info for info in _all(store, cwd, limit + offset) if info.messages or info.title)
    return tuple(islice((info for info in shown if info.session_id not in left_out), offset, offset + limit))


def _all(store: SessionStore, cwd: str | None, first: int) -> Iterator[SessionInfo]:
    """Yields the sessions of a folder, or all: at first so many are read, then twice as many."""
    at, most = 0, first
    while found := store.list(cwd, most, at):
        yield from found
        if len(found) < most:
            break
        at, most = at + len(found), 2 * most
