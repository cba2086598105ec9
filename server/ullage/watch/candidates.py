"""The files and database rows in which coding agents keep conversations on this machine: those that agents' glob
patterns find, whether a file is one of theirs, and which processes have which conversations, as agents say in files
while they run. Which of them their agents are about to delete, by agents' settings and the times of the files.

Files are not read for the patterns, except databases and lists of projects. Of a conversation's file a list reads only
as many of the first and the last records as it needs (`file_ends`)."""

import glob
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent, Retention, Sessions
from ullage.agents.discovery import DATABASES, UnreadFile, origin_in
from ullage.agents.machine import Machine, is_lone_command
from ullage.agents.table import AGENTS
from ullage.bounds import open_plain
from ullage.formats.parsing import Line, parse_lines
from ullage.host import this_system
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_objects, decode_json
from ullage.watch.unpacking import PACKED, opened

# Bytes of a file's beginning that are read, one after the other. The first prompt may follow long instructions; a first
# record that holds the agent's own prompt and tools has about 100 KB.
_HEADS = (16 << 10, 128 << 10, 1 << 20)
# Bytes of a file that is one JSON value, which can only be read whole.
_WHOLE = 4 << 20
# Bytes of the beginning of a file of records, and those of its end, one after the other, that are read for its figure.
# Mostly the last answer is within the fewest. Long results of tools may follow it, and the first prompt may come after
# long instructions.
_BEGIN = 128 << 10
_ENDS = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
# Bytes in which a text is searched at once.
_STEP = 256 << 10
# Bytes of either end in which a conversation may be named, and the names of one of which each such record has.
_NAMED, _NAMES = 16 << 10, (b'itle":', b'"summary":')
# One of these is in a record of what a user typed.
_TYPED = (b'"user"', b'"user.')
# With these begin comments before the first record.
_COMMENT = (b"//", b"#")
# Of these words one is in each record that an agent writes of the tokens of a request.
_USAGES = (b"usage", b"oken", b"Usage")


class Part(Struct, frozen=True, kw_only=True):
    """The first and the last records of a file of records. `is_whole` says that there are no others between them; else
    those that the file begins with are its first one and the one that says what the conversation is."""

    first: tuple[Line, ...]
    last: tuple[Line, ...]
    is_whole: bool


def read_first(path: Path, size: int) -> tuple[JsonObject, ...]:
    """Returns the first records of a file of `size` bytes: those in its first 16 KiB or, if these have no whole one, in
    more. Of a compressed file the content is read. A file without records on its lines is read whole, see `read_small`.
    Raises `OSError`, and `InvalidRequest` if it can't be unpacked."""
    data = b""
    with opened(path) as file:
        for head in _HEADS:
            data += file.read(head - len(data))
            is_whole = len(data) < head or (len(data) == size and path.suffix not in PACKED)
            lines = data.split(b"\n")
            # The last line may continue after what was read.
            if records := tuple(_objects(lines if is_whole else lines[:-1])):
                return records
            if is_whole:
                break
    return read_small(path) if size <= _WHOLE else ()


@contextmanager
def file_ends(path: str, size: int, title_in: Callable[[Line], str]) -> Generator["FileEnds | None"]:
    """Opens a file of `size` bytes for reading its ends; None if it is compressed or does not begin with a record.
    `title_in` returns the title that a record of its beginning gives the conversation, or "". Raises `OSError`."""
    if path.endswith(tuple(PACKED)):
        yield None
        return
    with open_plain(path) as file:
        ends = FileEnds(file, size, title_in)
        yield ends if ends.first else None


class FileEnds:
    """Both ends of an open file of records. Of either more is read when it is asked for, up to a bound.

    `first` are the first record and the first with a title, as far as the beginning has them, and `title` is that;
    comments before them are left out.
    """

    def __init__(self, file: BinaryIO, size: int, title_in: Callable[[Line], str]) -> None:
        self._file, self._size = file, size
        self._head = self._read(0, _NAMED)
        self._tail_at = max(0, size - _NAMED)
        self._tail = self._read(self._tail_at, _NAMED) if self._tail_at else self._head
        # Where the records begin, and where those of `first` end.
        self._begin = self._end = 0
        self.title = ""
        self.first = self._read_first(title_in)

    def _read(self, at: int, most: int) -> bytes:
        self._file.seek(at)
        return self._file.read(most)

    def _read_first(self, title_in: Callable[[Line], str]) -> tuple[Line, ...]:
        first: list[Line] = []
        found: tuple[Line, ...] = ()
        end = 0
        # Most agents name the role of who typed the first prompt. All records are parsed only where none is named so.
        for roles in (_TYPED, (b"",)):
            first, self._begin, self._end = [], 0, 0
            for raw in self._first_lines():
                lines = _lines(raw, len(first) + 1) if not first or any(role in raw for role in roles) else ()
                if not first and lines and lines[0].value is None:
                    if not raw.startswith(_COMMENT):
                        return ()
                    self._begin = self._end
                elif lines:
                    first = [*first[:1], lines[0]]
                    title = title_in(lines[0])
                    if title and not is_lone_command(title):
                        self.title = title
                        return tuple(first)
                    if title and not found:
                        self.title, found, end = title, tuple(first), self._end
            if found:
                self._end = end
                return found
        return tuple(first)

    def _first_lines(self) -> Iterator[bytes]:
        """Yields the lines that the file begins with; `_end` is then where the line ends."""
        while True:
            end = self._head.find(b"\n", self._end)
            if end < 0 and len(self._head) < min(self._size, _BEGIN):
                self._head += self._read(len(self._head), _BEGIN - len(self._head)) or b"\n"
                continue
            at, self._end = self._end, end + 1 if end >= 0 else self._end
            if end >= 0:
                yield self._head[at:end]
                continue
            if len(self._head) >= self._size > at:
                self._end = self._size
                yield self._head[at:]
            return

    def begun(self) -> tuple[Line, ...]:
        """Returns the whole records of the first 128 KiB."""
        self._head += self._read(len(self._head), max(0, _BEGIN - len(self._head)))
        return _numbered(self._head.rpartition(b"\n")[0].split(b"\n"), 1)

    def last(self) -> Iterator[bytes]:
        """Yields the lines after `first` that are not blank, the last first, as far as the end was read."""
        end = self._size
        while end > self._end:
            at = self._tail.rfind(b"\n", 0, end - self._tail_at) + 1 + self._tail_at
            if at == self._tail_at and at > self._end:
                if not self._read_more(4 * len(self._tail)):
                    return
                continue
            line = self._tail[max(at, self._end) - self._tail_at : end - self._tail_at]
            end = at - 1
            if line.strip():
                yield line

    def _read_more(self, most: int) -> bool:
        """Reads so many bytes of the end of the file, if they are not read yet. Returns whether it has read more."""
        at = max(0, self._size - min(most, _ENDS[-1]))
        more = self._read(at, self._tail_at - at) if at < self._tail_at else b""
        self._tail, self._tail_at = more + self._tail, self._tail_at - len(more)
        return bool(more)

    def parts(self) -> Iterator[Part]:
        """Yields `first` with more and more of the last records."""
        for most in _ENDS:
            self._read_more(most)
            start = max(self._end, self._size - most)
            data = self._tail[start - self._tail_at :]
            if start == self._end:
                begun = self._head[self._begin : self._end].removesuffix(b"\n")
                first = _numbered(begun.split(b"\n"), 1)
                yield Part(first=first, last=_numbered(data.split(b"\n"), len(first) + 1), is_whole=True)
                return
            # The first line may have begun before.
            data = data.partition(b"\n")[2]
            if any(word in data for word in _USAGES):
                yield Part(first=self.first, last=_numbered(data.split(b"\n"), len(self.first) + 1), is_whole=False)

    def last_with(self, text: bytes) -> Line | None:
        at, after = self._size, b""
        while at > 0:
            step = min(at, _STEP)
            at -= step
            # A text may begin in one step and end in the next.
            data = self._read(at, step) + after
            after = data[: len(text) - 1]
            if (place := data.rfind(text)) >= 0:
                return self._record_at(at + place)
        return None

    def _record_at(self, place: int) -> Line | None:
        """Returns the record that has this byte of the file, or None if it has none in 1 MiB around it."""
        at = max(0, place - _ENDS[-1])
        data = self._read(at, 2 * _ENDS[-1])
        end = data.find(b"\n", place - at)
        line = data[data.rfind(b"\n", 0, place - at) + 1 : end if end >= 0 else None]
        return next((one for one in _lines(line, len(self.first) + 1) if one.value is not None), None)

    def named(self) -> tuple[JsonObject, ...]:
        """Returns those records in the first and the last 16 KiB that may name the conversation."""
        data = self._head[:_NAMED]
        if self._size > len(data):
            data += self._tail[-min(_NAMED, self._size - len(data)) :]
        starts: set[int] = set()
        for name in _NAMES:
            place = data.find(name)
            while place >= 0:
                starts.add(data.rfind(b"\n", 0, place) + 1)
                # The rest of a line says nothing more.
                end = data.find(b"\n", place)
                place = data.find(name, end) if end >= 0 else -1
        return tuple(_objects(data[start:].partition(b"\n")[0] for start in sorted(starts)))


def _numbered(raw: Iterable[bytes], number: int) -> tuple[Line, ...]:
    """Parses lines. They all have one number."""
    return tuple(line for one in raw if one for line in _lines(one, number))


def has_any(path: Path, marks: Sequence[bytes]) -> bool:
    """Returns whether any of these texts is in a file. Raises `OSError`."""
    with open_plain(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return any(data.find(mark) >= 0 for mark in marks)


def _lines(raw: bytes, number: int) -> Sequence[Line]:
    """Parses one line, in half of the time that any line takes if it is a usual one."""
    try:
        return (Line(number=number, value=msgspec.json.decode(raw, type=dict[str, Any])),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_lines(raw, number, is_text=False)


def read_small(path: Path) -> tuple[JsonObject, ...]:
    """Returns the records of a whole file, or an empty tuple if it has more than 4 MiB: the JSON objects on its lines.
    Of a file that is one JSON value, they are that object, or the objects in that list. Of one that is neither, there
    is one record, `{"file": name, "text": text}`. Raises `OSError`."""
    with open_plain(path) as file:
        data = file.read(_WHOLE + 1)
    if len(data) > _WHOLE:
        return ()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        found = tuple(_objects(data.split(b"\n")))
        return found or ({"file": path.name, "text": data.decode("utf-8", "replace")},)
    return tuple(as_objects(value)) if isinstance(value, list) else tuple(as_objects([value]))


def _objects(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yields the JSON objects on these lines. Other lines, such as one that is not completely written, are skipped."""
    for line in lines:
        if line.lstrip().startswith(b"{"):
            try:
                yield decode_json(line, dict)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue


class AgentsOwnFiles:
    """The files in which agents on this machine keep their conversations; see `OwnFiles`."""

    def path_of(self, path: str) -> str:
        """Returns the path under which an agent keeps the file or folder `path`, or ""."""
        return own_path(this_machine(str(Path(path).parent.absolute())), AGENTS, path)

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
    variables = {name: escaped(_expanded(value)) for name, value in os.environ.items()}
    return Machine(system=sys.platform, home=escaped(home), variables=variables, cwd=escaped(cwd))


def _expanded(value: str) -> str:
    """Returns the value of an environment variable with `~` at its beginning replaced by the home folder."""
    return str(Path(value).expanduser()) if value.startswith(("~/", "~\\")) else value


def find_processes(machine: Machine, agents: Sequence[Agent]) -> dict[tuple[str, str], int | None]:
    """Returns the process of each conversation that an agent's file names, by the agent's name and its own id of the
    conversation. The process is None if it has ended. Blocks while it reads the disk; raises no error for a file."""
    found: dict[tuple[str, str], int | None] = {}
    for agent in agents:
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
    from 1, and `row` is its record; otherwise both are None. `stat` differs whenever the file, or the row, has changed.
    """

    agent: Agent
    sessions: Sessions
    path: str
    updated_at: int
    size: int
    stat: tuple[int, int, int]
    run: int | None = None
    row: JsonObject | None = None

    @property
    def name(self) -> str:
        """The path of the file with forward slashes."""
        return self.path.replace(os.sep, "/")

    @property
    def origin_id(self) -> str:
        """The agent's own id of the conversation, as far as the row or the path says it."""
        known = self.sessions.facts_of(self.name, () if self.row is None else [self.row])
        return known.session_id or origin_in(self.name)


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


def own_path(machine: Machine, agents: Sequence[Agent], path: str) -> str:
    """Returns the path by which an agent's glob pattern finds the file `path`, or a file in the folder `path`. Returns
    "" if no pattern of these agents does. Links are followed; nothing is read but lists of projects."""
    own = Path(path)
    is_folder = own.is_dir()
    for sessions in (agent.sessions for agent in agents if agent.sessions):
        for pattern in patterns_of(machine, sessions, []):
            for found in glob.iglob(pattern, recursive=True):  # noqa: PTH207
                with suppress(OSError):
                    if (Path(found).parent if is_folder else Path(found)).samefile(own):
                        return found
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
            yield from _rows(candidate) if path.endswith(DATABASES) else (candidate,)
        except (OSError, InvalidRequest) as error:
            unread.append(UnreadFile(path=path, reason=reason_of(error)))


def _rows(candidate: Candidate) -> Iterator[Candidate]:
    """Yields one candidate per conversation in a database. Raises `InvalidRequest` if the database can't be read."""
    # SQLite is imported on first use: the doors start without it.
    database = import_module("ullage.watch.database_rows")
    tables = {candidate.sessions.table, candidate.sessions.newer_table} - {""}
    lines: tuple[Line, ...] = database.read_rows(Path(candidate.path), tables)
    beside = tuple(read_fact_files(candidate))
    rows: dict[str | int, Candidate] = {}
    for number, line in enumerate(lines, start=1):
        facts = candidate.sessions.facts_of(candidate.name, [line.value or {}, *beside])
        updated_at = facts.updated_at or candidate.updated_at
        found = replace(candidate, row=line.value, updated_at=updated_at, stat=(0, updated_at, candidate.stat[2]))
        rows[facts.session_id or number] = found
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
        settings_path=_unescaped(retention.patterns(machine)[0]),
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


def _unescaped(pattern: str) -> str:
    """Returns the path that an escaped pattern without wildcards matches."""
    return pattern.replace("[[]", "[").replace("[*]", "*").replace("[?]", "?")
