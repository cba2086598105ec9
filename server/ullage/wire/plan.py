"""What is added to agents' settings, and what such a change does: values, and the port of a door that wires agents."""

import difflib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, Protocol

from msgspec import Struct

from ullage.agents.wiring import McpPlace, Syntax


class HookEntry(Struct, frozen=True, kw_only=True):
    """A hook of Ullage's: the event, the matcher ("" for always), the command, its most time as the agent counts it,
    and the shell that it names; "" if it names none."""

    event: str
    matcher: str
    command: str
    timeout: int
    shell: str = ""


class McpServer(Struct, frozen=True, kw_only=True):
    """Ullage's MCP server as an agent starts it: its name in the settings, the program, and the program's arguments.
    `variables` are environment variables that the agent passes on only if they are named. `place` is where settings in
    JSON have servers."""

    name: str
    command: str
    arguments: tuple[str, ...]
    variables: tuple[str, ...] = ()
    place: McpPlace = McpPlace()


class Added(Struct, frozen=True, kw_only=True):
    """What is added to a settings file. `status_line` is the command of the status line; "" leaves it alone. Hooks and
    a status line can be added to JSON alone. `text` is a whole file: a plugin that runs the words of `command`."""

    syntax: Syntax = "json"
    hooks: tuple[HookEntry, ...] = ()
    status_line: str = ""
    mcp: McpServer | None = None
    text: str = ""
    command: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.hooks or self.status_line or self.text) and self.mcp is None


class FileChange(Struct, frozen=True, kw_only=True):
    """A change of a file with settings. `before` and `after` are its contents, None where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def is_empty(self) -> bool:
        return self.before == self.after


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
    agents; without words all those on this machine are meant; there may be none. Both raise `InvalidRequest`
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


# Characters that are compared at once.
_STEP = 65_536


def edit_pieces(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """Returns the pieces that an edit takes out and those that it puts in their places, in their order.

    The same edit of a text that says something else elsewhere has the same pieces, also if the line before it is
    another one: of a line that gets a comma, only the comma is a piece.
    """
    return tuple(_piece(old, new, rest) for old, new, rest in _changed_lines(before, after))


def _changed_lines(before: str, after: str) -> Iterator[tuple[str, str, str]]:
    """Yields the lines that differ, before and after, and what follows them in both texts."""
    # Only what lies between the first and the last change is compared: such a file may have some megabytes.
    start = before.rfind("\n", 0, _shared(before, after)) + 1
    old, new = before[start:], after[start:]
    same = _shared(old[::-1], new[::-1])
    # The end that both have begins where a line begins.
    line = old.find("\n", len(old) - same)
    rest = len(old) - line - 1 if same and line >= 0 else 0
    olds, news = old[: len(old) - rest].splitlines(keepends=True), new[: len(new) - rest].splitlines(keepends=True)
    places = [*accumulate(map(len, olds), initial=0)]
    for kind, first, stop, new_first, new_stop in difflib.SequenceMatcher(None, olds, news).get_opcodes():
        if kind != "equal":
            yield "".join(olds[first:stop]), "".join(news[new_first:new_stop]), old[places[stop] :]


def _piece(old: str, new: str, rest: str) -> tuple[str, str]:
    start = _shared(old, new)
    old, new = old[start:], new[start:]
    end = _shared(old[::-1], new[::-1])
    old, new, rest = old[: len(old) - end], new[: len(new) - end], old[len(old) - end :] + rest
    # What is only put in may begin at several places: `[1]` becomes `[1, 1]` by `1, ` or by `, 1`. It is taken as if it
    # began at the last of them, which does not depend on what is before it.
    if not old:
        return "", _at_last_place(new, rest)
    return (_at_last_place(old, rest), "") if not new else (old, new)


def _at_last_place(piece: str, rest: str) -> str:
    at = _shared(rest, piece + rest)
    return (piece + rest)[at : at + len(piece)]


def _shared(one: str, other: str) -> int:
    """Returns how many characters two texts have in common at their beginnings."""
    most = min(len(one), len(other))
    # A text of megabytes is compared once, and only where it differs again and again.
    start = next((at for at in range(0, most, _STEP) if one[at : at + _STEP] != other[at : at + _STEP]), most)
    here, there = one[start : min(most, start + _STEP)], other[start : min(most, start + _STEP)]
    return start + bisect_left(range(len(here)), True, key=lambda length: here[: length + 1] != there[: length + 1])
