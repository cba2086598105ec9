"""Finds the conversations that coding agents keep on this machine, from the beginnings and ends of their files."""

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.discovery import Discovery, Found, UnreadFile, Wanted, is_in
from ullage.agents.machine import Machine
from ullage.agents.session_facts import Facts
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import format_of
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject
from ullage.watch.candidates import Candidate, find_candidates, own_path, read_fact_files, reason_of
from ullage.watch.file_parts import Opening, read_ending, read_openings

# Files whose beginnings are read besides those that seem to be the folder's: enough to fill every list, and to find a
# folder's conversations among those of an agent whose paths don't name the folder.
_READ = 200
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class _Seen(Struct, frozen=True, kw_only=True):
    """A candidate whose first records were read, with the facts in them. `known` are the records of the files with
    further facts about it."""

    candidate: Candidate
    opening: Opening
    known: tuple[JsonObject, ...]
    facts: Facts

    @property
    def updated_at(self) -> int:
        return self.facts.updated_at or self.candidate.updated_at


class AgentFiles:
    """Finds agents' conversations on this machine, where they are according to the environment at the time of the
    call."""

    def find(self, wanted: Wanted) -> Discovery:
        """Returns the wanted conversations and the files that could not be read; see `TranscriptFinder.find`."""
        return find(this_machine(wanted.folder), wanted)


class AgentsOwnFiles:
    """The files in which agents on this machine keep their conversations; see `OwnFiles`."""

    def path_of(self, path: str) -> str:
        """Returns the path under which an agent keeps the file or folder `path`, or ""."""
        return own_path(this_machine(str(Path(path).parent.absolute())), AGENTS, path)

    def has(self, path: str) -> bool:
        """Returns whether an agent's file is there."""
        return bool(path) and os.path.exists(path)  # noqa: PTH110 - a third of the time of `Path`


def this_machine(cwd: str = "") -> Machine:
    """Returns the operating system, the home folder and the environment variables of this process, for agents' glob
    patterns. `cwd` is the folder in which the user works, or "".

    Special characters of glob patterns in the paths are escaped. If the user has no home folder, it is `/`, where no
    agent keeps files.
    """
    return _machine(glob.escape, cwd)


def machine_of_paths() -> Machine:
    """Returns the same as `this_machine` for the paths of single files: nothing is escaped."""
    return _machine(str, "")


def _machine(escaped: Callable[[str], str], cwd: str) -> Machine:
    try:
        home = str(Path.home())
    except RuntimeError:
        home = "/"
    variables = {name: escaped(_expanded(value)) for name, value in os.environ.items()}
    return Machine(system=sys.platform, home=escaped(home), variables=variables, cwd=escaped(cwd))


def _expanded(value: str) -> str:
    """Returns the value of an environment variable with `~` at its beginning replaced by the home folder."""
    return str(Path(value).expanduser()) if value.startswith(("~/", "~\\")) else value


def find(machine: Machine, wanted: Wanted, agents: Sequence[Agent] = AGENTS) -> Discovery:
    """Returns the wanted conversations of these agents, and the files that could not be read. Those of sub-agents are
    left out, unless an id is wanted. Blocks while it reads the disk. Raises no error for a file."""
    unread: list[UnreadFile] = []
    found = sorted(find_candidates(machine, agents, unread), key=lambda one: -one.updated_at)
    if not wanted.origin:
        found = [one for one in found if not one.sessions.is_sub_agent(one.name)]
    else:
        # A file whose path doesn't say the id is only found among the newest.
        named = [one for one in found if one.origin_id.startswith(wanted.origin)]
        found = named or [one for one in found[:_READ] if _origin_of(one, unread).startswith(wanted.origin)]
    place, most, sides = _Place(wanted.folder), max(wanted.limit, _READ), bool(wanted.origin)
    seen = [
        *_look_at([one for one in found if place.may_hold(one)], wanted.limit, place, unread, sides=sides),
        *_look_at([one for one in found if not place.may_hold(one)], most, None, unread, sides=sides),
    ]
    seen.sort(key=lambda one: -one.updated_at)
    here = [one for one in seen if place.holds(one)]
    others = [] if wanted.alone else [one for one in seen if not place.holds(one)]
    chosen = (*here, *others)[: wanted.limit]
    return Discovery(conversations=tuple(_finish(one, place, unread) for one in chosen), unread=tuple(unread))


class _Place:
    """A folder, with tests whether a conversation belongs to it.

    Many agents name one of their own folders after the folder that a conversation is about, with other characters
    between the words.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._mark = _marked(folder)
        self._known: dict[str, bool] = {}

    def may_hold(self, candidate: Candidate) -> bool:
        """Returns whether a conversation may belong to the folder, judged by the path of its file. It may also belong
        to a folder with a similar name."""
        own = candidate.path.rpartition(os.sep)[0]
        if own not in self._known:
            self._known[own] = bool(self._mark) and self._mark in _marked(own)
        return self._known[own]

    def holds(self, seen: _Seen) -> bool:
        """Returns whether a conversation belongs to the folder or a folder in it: according to its records or, if they
        don't name a folder, to its path."""
        if seen.facts.cwd:
            return is_in(seen.facts.cwd, self.folder)
        return self.may_hold(seen.candidate) and self._mark in map(_marked, seen.candidate.name.split("/"))


def _marked(path: str) -> str:
    return _NOT_IN_NAMES.sub("-", path.lower()).strip("-")


def _origin_of(candidate: Candidate, unread: list[UnreadFile]) -> str:
    seen = _look(candidate, unread)
    return seen.facts.session_id if seen else ""


def _look_at(
    candidates: Sequence[Candidate], most: int, place: _Place | None, unread: list[UnreadFile], *, sides: bool
) -> list[_Seen]:
    """Reads the first records of the candidates, in order, until `most` conversations were found (of `place`, if it is
    not None). Returns all conversations that were read, those of sub-agents only if `sides` is true.

    If several files belong to one conversation, only the first of them is returned: some agents write another file each
    time a conversation is resumed.
    """
    known: dict[tuple[str, str], _Seen] = {}
    counted = 0
    for candidate in candidates:
        if counted >= most:
            break
        seen = _look(candidate, unread)
        key = candidate.agent.name, seen.facts.session_id or candidate.path if seen else ""
        if seen is not None and (sides or not seen.facts.is_side) and key not in known:
            known[key] = seen
            counted += place is None or place.holds(seen)
    return list(known.values())


def _look(candidate: Candidate, unread: list[UnreadFile]) -> _Seen | None:
    """Reads the first records of a candidate until they name its folder. If it can't be read, adds the file to `unread`
    and returns None."""
    opening, facts = Opening(records=(), end=0), Facts()
    try:
        known = tuple(read_fact_files(candidate))
        for opening in _openings(candidate):
            facts = candidate.sessions.facts_of(candidate.name, (*opening.records, *known))
            if facts.cwd:
                break
    except (OSError, InvalidRequest) as error:
        unread.append(UnreadFile(path=candidate.path, reason=reason_of(error)))
        return None
    return _Seen(candidate=candidate, opening=opening, known=known, facts=facts)


def _openings(candidate: Candidate) -> Iterable[Opening]:
    if candidate.row is not None:
        return (Opening(records=(candidate.row,), end=candidate.size),)
    return read_openings(Path(candidate.path), candidate.size)


def _finish(seen: _Seen, place: _Place, unread: list[UnreadFile]) -> Found:
    """Returns a conversation as a list shows it. Reads the end of its file, which may contain a newer title and model;
    if the file can't be read, adds it to `unread`."""
    candidate, facts = seen.candidate, seen.facts
    first, last, title = seen.opening.records, (), ""
    try:
        last = () if candidate.row else read_ending(Path(candidate.path), candidate.size, seen.opening)
        title = candidate.sessions.title_of((*first, *last, *seen.known))
        if not title:
            # The first prompt may follow long instructions.
            *_, opening = _openings(candidate)
            title = candidate.sessions.title_of((*opening.records, *last, *seen.known))
    except (OSError, InvalidRequest) as error:
        unread.append(UnreadFile(path=candidate.path, reason=reason_of(error)))
    return Found(
        path=candidate.path,
        agent=candidate.agent.name,
        format=format_of(candidate.agent, candidate.name, (*first, *last)),
        updated_at=seen.updated_at,
        size=candidate.size,
        run=candidate.run,
        origin_id=facts.session_id or candidate.origin_id,
        title=title,
        cwd=facts.cwd or (place.folder if place.holds(seen) else ""),
        model=candidate.sessions.facts_of(candidate.name, last).model or facts.model,
    )
