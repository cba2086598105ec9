"""Port of wiring: how a door adds Ullage to agents' settings and takes it out again."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class FileChange(Struct, frozen=True, kw_only=True):
    """A change of a file with settings. `before` and `after` are its contents, None where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None


class AgentChange(Struct, frozen=True, kw_only=True):
    """What adding Ullage to an agent changes, or taking it out of the agent.

    `word` is the agent's name in commands and `path` the file with its settings. `files` holds the files that change;
    it is empty if everything is as wanted already. `is_wired` says whether Ullage was added to the agent before.
    `notes` are sentences about what the user has to know or do.
    """

    agent: str
    word: str
    path: str
    files: tuple[FileChange, ...]
    is_wired: bool
    notes: tuple[str, ...] = ()


class WiresAgents(Protocol):
    """Adds Ullage to agents of this machine. `add` and `take_out` return one change for each agent. `words` name the
    agents; without words all those on this machine are meant, of which there may be none."""

    def add(self, words: Sequence[str], *, status_line: bool) -> Sequence[AgentChange]:
        """Returns what adds Ullage to agents; nothing is written. With `status_line` it also becomes their status line.
        Raises `InvalidRequest` for a word that names no such agent, or if settings can't be changed."""
        ...

    def take_out(self, words: Sequence[str]) -> Sequence[AgentChange]:
        """Returns what takes Ullage out of the agents that it was added to; nothing is written. Raises `InvalidRequest`
        for a word that names no such agent, or if settings can't be changed."""
        ...

    def make(self, change: AgentChange) -> None:
        """Makes a change. Raises `InvalidRequest` if a file has changed since, or can't be written."""
        ...
