"""The files and database rows in which coding agents keep conversations on this machine: those that agents' glob
patterns find, whether a file is one of theirs, and which processes have which conversations, as agents say in files
while they run. Which of them their agents are about to delete, by agents' settings and the times of the files.

Files are not read for the patterns, except databases and lists of projects.
"""

import glob
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent, Retention, Sessions
from ullage.agents.discovery import DATABASES, UnreadFile, origin_in
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import read_with
from ullage.formats.parsing import Line, as_timestamp, clean_text
from ullage.host import this_system
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject
from ullage.watch.file_parts import read_first, read_small


class AgentsOwnFiles:
    """The files in which agents on this machine keep their conversations; see `OwnFiles`."""

    def path_of(self, path: str) -> str:
        """Returns the path under which an agent keeps the file or folder `path`, or ""."""
        return own_path(this_machine(str(Path(path).parent.absolute())), path)

    def has(self, path: str) -> bool:
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
    variables: dict[str, str] = {}
    for name, value in os.environ.items():
        variables[name] = escaped(str(Path(value).expanduser()) if value.startswith(("~/", "~\\")) else value)
    return Machine(system=sys.platform, home=escaped(home), variables=variables, cwd=escaped(cwd))


def find_processes(machine: Machine) -> dict[tuple[str, str], int | None]:
    """Returns the process of each conversation that an agent's file names, by the agent's name and its own id of the
    conversation. The process is None if it has ended. Blocks while it reads the disk; raises no error for a file."""
    found: dict[tuple[str, str], int | None] = {}
    for agent in AGENTS:
        if agent.processes is None:
            continue
        for pattern in agent.processes.patterns(machine):
            for path in glob.iglob(pattern):  # noqa: PTH207  (as in `candidates.py`)
                with suppress(OSError):
                    running = agent.processes.running_in(path.replace(os.sep, "/"), read_small(Path(path)))
                    if running is None:
                        continue
                    key = agent.name, running.session_id
                    runs = this_system.runs(running.process_id)
                    # A conversation may also have a file that a killed process has left.
                    found[key] = running.process_id if runs else found.get(key)
    return found


# Files next to a conversation's own that are read for its facts.
_BESIDE = 8
# SQLite writes changes to this file first.
_WRITE_AHEAD = "-wal"
# Whether conversations are sub-agents', by the paths of their files and their ids. At most so many are kept.
_MOST_KNOWN = 10_000
_of_sub_agents: dict[tuple[str, str], bool] = {}


class Candidate(Struct, frozen=True, kw_only=True):
    """A file that may contain a conversation, found by an agent's glob pattern, or one row of a database.

    `updated_at` is Unix milliseconds, `size` the size of the file in bytes. For a row, `run` is its number, counted
    from 1, `row` is its record, and `row_id` the agent's id of the conversation. `stat` differs whenever the file, or
    the row, has changed.
    """

    agent: Agent
    sessions: Sessions
    path: str
    updated_at: int
    size: int
    stat: tuple[int, int, int]
    run: int | None = None
    row: JsonObject | None = None
    row_id: str = ""

    @property
    def name(self) -> str:
        """The path of the file with forward slashes."""
        return self.path.replace(os.sep, "/")

    @property
    def origin_id(self) -> str:
        """The agent's own id of the conversation, as far as the row or the path says it."""
        if self.row is not None:
            return self.row_id
        return self.sessions.facts_of(self.name, ()).session_id or origin_in(self.name)


def find_candidates(
    machine: Machine, agents: Sequence[Agent], unread: list[UnreadFile], paths: Collection[str] | None = None
) -> Collection[Candidate]:
    """Returns the files and rows that the agents' glob patterns find, those of sub-agents among them, without empty
    files; with `paths`, those of these files alone. Adds files that could not be read to `unread`."""
    found: dict[tuple[str, int], Candidate] = {}
    parts = None if paths is None else {path: in_parts(path) for path in paths}
    for agent in agents:
        if agent.sessions is None:
            continue
        for pattern in patterns_of(machine, agent.sessions, unread):
            chosen = (pattern,)
            if parts is not None:
                own = pattern.split("/")
                chosen = [glob.escape(path) for path, names in parts.items() if fits(names, own)]
            for candidate in chain.from_iterable(_expand(agent, agent.sessions, one, unread) for one in chosen):
                found.setdefault((candidate.path, candidate.run or 0), candidate)
    return _without_copies(found.values())


def patterns_of(machine: Machine, sessions: Sessions, unread: list[UnreadFile]) -> Iterator[str]:
    """Yields the glob patterns of the files that hold an agent's conversations, those that lists of projects name among
    them. Adds lists that could not be read to `unread`."""
    for pattern in sessions.patterns(machine):
        if sessions.registry is None:
            yield pattern
            continue
        for path in glob.iglob(pattern):  # noqa: PTH207
            try:
                yield from sessions.registry(read_small(Path(path)))
            except (OSError, InvalidRequest) as error:
                unread.append(UnreadFile(path=path, reason=reason_of(error)))


def in_parts(path: str) -> list[str]:
    """Returns the parts of a path that `fits` compares."""
    return path.replace(os.sep, "/").split("/")


def fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Returns whether a glob pattern finds a path; both are in parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(fits(parts[place:], pattern[1:]) for place in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and fits(parts[1:], pattern[1:])


def own_path(machine: Machine, path: str) -> str:
    """Returns the path by which an agent's glob pattern finds the file `path`, or a file in the folder `path`. Returns
    "" if no pattern does, or if the path is not UTF-8. Links are followed; nothing is read but lists of projects."""
    own = Path(path)
    is_folder = own.is_dir()
    for sessions in (agent.sessions for agent in AGENTS if agent.sessions):
        for pattern in patterns_of(machine, sessions, []):
            for found in glob.iglob(pattern, recursive=True):  # noqa: PTH207
                with suppress(OSError):
                    if (Path(found).parent if is_folder else Path(found)).samefile(own):
                        return found if clean_text(found) == found else ""
    return ""


def _without_copies(found: Collection[Candidate]) -> Collection[Candidate]:
    """Leaves out the files of conversations that the same agent has in a database, too, which has more of them."""
    stored = {(one.agent.name, one.origin_id) for one in found if one.row}
    agents = {name for name, _ in stored}
    return [
        one for one in found if one.row or one.agent.name not in agents or (one.agent.name, one.origin_id) not in stored
    ]


def _expand(agent: Agent, sessions: Sessions, pattern: str, unread: list[UnreadFile]) -> Iterator[Candidate]:
    # The functions of `os` take half the time of `Path`: there may be tens of thousands of files.
    for path in glob.iglob(pattern, recursive=True):  # noqa: PTH207
        try:
            status = os.stat(path)  # noqa: PTH116
            if not S_ISREG(status.st_mode) or not status.st_size:
                continue
            if (better := sessions.superseded_by(path)) and os.path.exists(better):  # noqa: PTH110
                continue
            if clean_text(path) != path:
                raise InvalidRequest("its path is not UTF-8: rename the folder or file")
            candidate = Candidate(
                agent=agent,
                sessions=sessions,
                path=path,
                updated_at=status.st_mtime_ns // 1_000_000,
                size=status.st_size,
                stat=(status.st_size, status.st_mtime_ns, status.st_ino),
            )
            if path.endswith(DATABASES) and os.path.exists(path + _WRITE_AHEAD):  # noqa: PTH110
                changed = os.stat(path + _WRITE_AHEAD).st_mtime_ns // 1_000_000  # noqa: PTH116
                candidate = replace(candidate, updated_at=max(candidate.updated_at, changed))
            elif with_it := read_with(candidate.name):
                candidate = _changed_with(candidate, with_it)
            yield from _rows(candidate) if path.endswith(DATABASES) else (candidate,)
        except (OSError, InvalidRequest) as error:
            unread.append(UnreadFile(path=path, reason=reason_of(error)))


def _changed_with(candidate: Candidate, paths: Iterable[str]) -> Candidate:
    """Returns a file as it has changed last, itself or one of those that are read with it."""
    size, changed, inode = candidate.stat
    for path in paths:
        with suppress(OSError):
            changed = max(changed, os.stat(path).st_mtime_ns)  # noqa: PTH116
    return replace(candidate, updated_at=changed // 1_000_000, stat=(size, changed, inode))


def _rows(candidate: Candidate) -> Iterator[Candidate]:
    """Yields one candidate per conversation in a database. Raises `InvalidRequest` if the database can't be read."""
    # SQLite is imported on first use: the doors start without it.
    database = import_module("ullage.watch.database_rows")
    tables = {candidate.sessions.table, candidate.sessions.newer_table} - {""}
    lines: tuple[Line, ...] = database.read_rows(Path(candidate.path), tables)
    if not lines and not database.has_one_of(Path(candidate.path), tables):
        raise InvalidRequest(f"{candidate.path} has none of the tables that Ullage knows of {candidate.agent.name}")
    newest = candidate.sessions.newest
    times: dict[str, Any] = database.newest_in(Path(candidate.path), *newest) if newest else {}
    beside = tuple(read_fact_files(candidate))
    rows: dict[str | int, Candidate] = {}
    for number, line in enumerate(lines, start=1):
        facts = candidate.sessions.facts_of(candidate.name, [line.value or {}, *beside])
        updated_at = as_timestamp(times.get(facts.session_id)) or facts.updated_at or candidate.updated_at
        rows[facts.session_id or number] = replace(
            candidate,
            row=line.value,
            row_id=facts.session_id or origin_in(candidate.name),
            updated_at=updated_at,
            stat=(0, updated_at, candidate.stat[2]),
        )
    for number, (session_id, found) in enumerate(rows.items(), start=1):
        if isinstance(session_id, str):
            yield replace(found, run=number)


def read_fact_files(candidate: Candidate) -> Iterator[JsonObject]:
    """Yields the records of the files with facts of a conversation that are next to its own. Raises `OSError`."""
    folder = Path(candidate.path).parent
    for pattern in candidate.sessions.fact_files(candidate.name):
        found = sorted(folder.glob(pattern)) if glob.has_magic(pattern) else [folder / pattern]
        for file in found[:_BESIDE]:
            if file.is_file():
                yield from read_small(file)


def is_of_sub_agent(candidate: Candidate) -> bool:
    """Returns whether a conversation is a sub-agent's, according to the path of its file, its row or the first records
    of its file, and the files with its facts. False if these can't be read. Reads each file once, as soon as it has a
    record and those with its facts are there."""
    if candidate.sessions.is_sub_agent(candidate.name):
        return True
    key = candidate.path, candidate.origin_id
    if key not in _of_sub_agents:
        try:
            records = (candidate.row,) if candidate.row else read_first(Path(candidate.path), candidate.size)
            beside = tuple(read_fact_files(candidate))
        except (OSError, InvalidRequest):
            return False
        if not records or "file" in records[0]:
            # The first record is not written to its end, or the file is text, which no sub-agent has.
            return False
        is_side = candidate.sessions.facts_of(candidate.name, (*records, *beside)).is_side
        if candidate.sessions.fact_files(candidate.name) and not beside:
            # They may be written after the first record.
            return is_side
        if len(_of_sub_agents) >= _MOST_KNOWN:
            _of_sub_agents.clear()
        _of_sub_agents[key] = is_side
    return _of_sub_agents[key]


def reason_of(error: OSError | InvalidRequest) -> str:
    """Returns why a file can't be read, in the operating system's words if it gave a reason."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


_DAY = 86_400_000


class Expiring(Struct, frozen=True, kw_only=True):
    """What an agent deletes by itself. `days` is the time after the last change, `inf` if it deletes nothing. `files`
    counts its transcripts, `soon` are the paths of those that it will have deleted by the asked time, and `first_at`
    is when it deletes the first of them (Unix milliseconds, maybe in the past; 0 if there is none). `setting` goes
    into the file `settings_path` so that nothing is deleted."""

    agent: str
    days: float
    files: int
    soon: tuple[str, ...]
    first_at: int
    setting: str
    settings_path: str


def find_expiring(machine: Machine, agents: Sequence[Agent], by: int) -> tuple[Expiring, ...]:
    """Returns what each of these agents deletes by the time `by` (Unix milliseconds), for those that have transcripts
    and delete any by themselves. Reads no transcript."""
    return tuple(
        found for agent in agents if agent.retention and (found := _expiring(machine, agent, agent.retention, by))
    )


def _expiring(machine: Machine, agent: Agent, retention: Retention, by: int) -> Expiring | None:
    found = find_candidates(machine, [agent], [])
    candidates = [one for one in found if not one.sessions.is_sub_agent(one.name)]
    if not candidates:
        return None
    # A pattern without wildcards is the path that it matches, escaped.
    settings = retention.patterns(machine)[0].replace("[[]", "[").replace("[*]", "*").replace("[?]", "?")
    days = _days(machine, retention)
    ends = {one.path: one.updated_at + days * _DAY for one in candidates}
    soon = {path: int(end) for path, end in ends.items() if end <= by}
    return Expiring(
        agent=agent.name,
        days=days,
        files=len(candidates),
        soon=tuple(sorted(soon)),
        first_at=min(soon.values(), default=0),
        setting=retention.setting,
        settings_path=settings,
    )


def _days(machine: Machine, retention: Retention) -> float:
    for pattern in retention.patterns(machine):
        for path in glob.iglob(pattern):  # noqa: PTH207 - an absolute pattern
            try:
                records = read_small(Path(path))
            except OSError:
                continue
            said = [days for record in records if (days := retention.days_in(record)) is not None]
            if said:
                return said[-1] if math.isfinite(said[-1]) else math.inf
    return retention.default
