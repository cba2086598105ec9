"""Port of wiring: how a door adds Ullage to agents' settings and takes it out again."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ullage.wire.edit_pieces import edit_pieces


class FileChange(Struct, frozen=True, kw_only=True):
    """A change of a file with settings. `before` and `after` are its contents, None where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None


class OptionState(Struct, frozen=True, kw_only=True):
    """Something that an agent gets only if the user wants it, and whether the agent has it after a change (`is_on`).
    `statusLine` makes Ullage its status line, and with `fillNotes` its model gets notes of how full the context is."""

    name: Literal["statusLine", "fillNotes"]
    is_on: bool


class AgentChange(Struct, frozen=True, kw_only=True):
    """What adding Ullage to an agent changes, or taking it out of the agent.

    `word` is the agent's name in commands and `path` the file with its settings. `files` holds the files that change;
    it is empty if everything is as wanted already. `is_wired` says whether Ullage was added to the agent before.
    `notes` are sentences about what the user has to know or do. If settings can't be changed, `failed` is true: no file
    changes, and the note says why. `options` are those that the agent knows; taking out has none.
    """

    agent: str
    word: str
    path: str
    files: tuple[FileChange, ...]
    is_wired: bool
    notes: tuple[str, ...] = ()
    failed: bool = False
    options: tuple[OptionState, ...] = ()

    @property
    def meaning(self) -> "ChangeMeaning":
        """What the change does, whatever else its files say."""
        return ChangeMeaning(
            word=self.word,
            files=tuple(map(_meaning, self.files)),
            is_wired=self.is_wired,
            failed=self.failed,
            options=self.options,
        )


class FileMeaning(Struct, frozen=True, kw_only=True):
    """What a change does to a file at `path`: the pieces of text that it takes out and puts in, and whether it makes or
    removes the file."""

    path: str
    is_made: bool
    is_removed: bool
    pieces: tuple[tuple[str, str], ...]


class ChangeMeaning(Struct, frozen=True, kw_only=True):
    """What a change of an agent's settings does. An agent may write to its settings at any time: the same change of
    what they then say has the same meaning, and one that does something else to them has another one."""

    word: str
    files: tuple[FileMeaning, ...]
    is_wired: bool
    failed: bool
    options: tuple[OptionState, ...]


def _meaning(file: FileChange) -> FileMeaning:
    before, after = ((data or b"").decode(errors="replace") for data in (file.before, file.after))
    return FileMeaning(
        path=file.path,
        is_made=file.before is None,
        is_removed=file.after is None,
        pieces=edit_pieces(before, after),
    )


class WiresAgents(Protocol):
    """Adds Ullage to agents of this machine. `add` and `take_out` return one change for each agent. `words` name the
    agents; without words all those on this machine are meant, of which there may be none. Both raise `InvalidRequest`
    for a word that names no such agent, or if the settings of a named agent can't be changed. Without words, the change
    of such an agent has failed, and the other agents have theirs."""

    def add(self, words: Sequence[str], *, status_line: bool | None, fill_notes: bool | None) -> Sequence[AgentChange]:
        """Returns what adds Ullage to agents; nothing is written. With `status_line` it also becomes their status line,
        and with `fill_notes` their models get notes of how full the context is. None leaves that as it is."""
        ...

    def take_out(self, words: Sequence[str]) -> Sequence[AgentChange]:
        """Returns what takes Ullage out of the agents that it was added to; nothing is written."""
        ...

    def make(self, change: AgentChange) -> None:
        """Makes a change. Raises `InvalidRequest` if it has failed, a file has changed since, or can't be written."""
        ...
