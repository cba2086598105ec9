"""Reads what has been added to a file since it was last read, and notices when it is no longer the same file.

Whether a file has only grown is judged by its length, by its first bytes and by the last bytes that were read. An
agent may shorten a file, write it again, or replace it by another one of the same name, and an inode may be given to
another file; so neither name nor inode shows that what was read is still there.

A transcript is a file (plain, compressed or a SQLite database) or a folder in which the conversation is found, read
with the files that belong to it. For the archive the same files are read byte for byte; the rows of a conversation in
a database as a file with one row a line, in the order of the tables' names. Nothing is ever written next to an agent's
files."""

import os
import sys
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.discovery import rows_at
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import (
    RECORDS,
    companions_of,
    conversation_tables,
    kept_beside,
    known_format,
    read_document,
    read_with,
    references_of,
)
from ullage.bounds import LARGEST_VALUE, LONGEST_LINE, MOST_PASSED, open_plain
from ullage.formats.parsing import BLANK, WIDE, Document, Line, parse_document, parse_json, parse_lines
from ullage.formats.transcripts.format import Format
from ullage.model.errors import InputError, InvalidRequest
from ullage.model.events import MessageAppended
from ullage.service.ports.agent_files import (
    Appended,
    Growth,
    LastRows,
    Mark,
    Missing,
    OtherRows,
    Pieces,
    Replaced,
    RowsKnown,
)
from ullage.watch.candidates import find_candidates, is_of_sub_agent, this_machine
from ullage.watch.unpacking import TOO_LONG, is_packed, read_content, unpack

_SQLITE = b"SQLite format 3\0"
# Bytes of the files that a transcript's content refers to. The smaller files are read; of a conversation whose file is
# left out, its reader says that the file is missing.
_MOST_REFERRED = 256 << 20


def read_file(path: Path, run: int | None = None, origin_id: str = "") -> Document:
    """Returns the contents of a transcript file with the files that belong to it.

    `run` chooses one of several conversations, counted from 1, and in a database `origin_id`, the agent's own id of it.
    Raises `InvalidRequest` if the file can't be read.
    """
    try:
        return with_companions(path, parse_file(path, run, origin_id))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:
        # The path contains a NUL character, or a pattern is not valid.
        raise InvalidRequest(f"cannot read {str(path)!r}: {error}") from error


def with_companions(path: Path, document: Document) -> Document:
    """Returns a file's document with its companions. Raises `InvalidRequest` if it is damaged, and `OSError`."""
    companions = _companions(path, document)
    return replace(document, companions=companions) if companions else document


def with_reports(path: Path, document: Document) -> Document:
    """Returns the end of a file of records with the companions that have reports (`Agent.reports_beside`). Raises
    `InvalidRequest` if one is damaged, and `OSError`."""
    return with_companions(path, document) if read_with(path.as_posix()) else document


def parse_file(path: Path, run: int | None = None, origin_id: str = "") -> Document:
    """Returns the contents of a transcript file alone. Raises `InvalidRequest` for a damaged one, and `OSError`."""
    if is_database(path):
        # A database may have thousands of conversations: no other is read.
        return replace(read_database(path, origin_id or _origin_of(path, run)), run=run)
    return parse_document(read_content(path), str(path), run)


def _origin_of(path: Path, run: int | None) -> str:
    """Returns the agent's id of a conversation in a database by its number; without one, of the newest conversation
    with a message, a user's own before a sub-agent's. "" if the database is not where its agent keeps it."""
    found = [one for one in find_candidates(this_machine(), AGENTS, [], [str(path.absolute())]) if one.row]
    if run is not None:
        return next((one.origin_id for one in found if one.run == run), "")
    found.sort(key=lambda one: (is_of_sub_agent(one), -one.updated_at))
    return next((one.origin_id for one in found if _has_message(path, one.origin_id)), "")


def _has_message(path: Path, origin_id: str) -> bool:
    return len({row.get("table") for row in read_database(path, origin_id, most=1).objects}) > 1


def is_database(path: Path) -> bool:
    """Returns whether a file is a SQLite database. Raises `OSError`."""
    with open_plain(path) as file:
        return file.read(len(_SQLITE)) == _SQLITE


def read_database(path: Path, origin_id: str = "", most: int = -1) -> Document:
    """Returns the rows of an agent's database: of all conversations, or of the one to which the agent gave the id
    `origin_id`; if `most` is not -1, at most the last so many of each table. Raises `InvalidRequest` if the database
    can't be read."""
    # SQLite is imported on first use: the doors start without it.
    read_rows = import_module("ullage.watch.database_rows").read_rows
    rows: tuple[Line, ...] = read_rows(path, conversation_tables(), origin_id, most)
    return Document(name=str(path), lines=rows, origin_id=origin_id)


def _read_database_on(path: Path, origin_id: str, mark: Mark, known: RowsKnown | None) -> Growth:
    """Returns what has happened to a conversation in an agent's database since its rows were `known`. `mark` is that of
    the database. Raises `InvalidRequest` if the database can't be read."""
    read = import_module("ullage.watch.database_rows").read_rows_on(path, conversation_tables(), origin_id, known)
    if read.is_same:
        return OtherRows(mark=replace(mark, rows=known))
    if origin_id and not read.lines:
        return Missing()
    document = Document(name=str(path), lines=read.lines, origin_id=origin_id)
    if read.is_part:
        return LastRows(document=document, mark=replace(mark, rows=read.known))
    whole = with_companions(path, document)
    return Replaced(document=whole, mark=replace(mark, rows=None if whole.companions else read.known))


def parse_transcript(data: bytes, name: str, run: int | None = None) -> Document:
    """Parses a transcript's bytes, compressed or not, called `name`. Raises `InvalidRequest` if damaged."""
    return parse_document(unpack(data, name), name, run)


def is_read_in_pieces(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is text in which a line end is one byte, and which can be read on
    where an earlier read ended."""
    return not data.startswith((_SQLITE, *WIDE)) and not is_packed(data)


def files_beside(path: Path, patterns: Iterable[str]) -> list[Path]:
    """Returns the files that match patterns relative to a file's folder, sorted."""
    return sorted({file for pattern in patterns for file in path.parent.glob(pattern) if file.is_file()})


def _belonging(path: Path) -> list[Path]:
    """Returns the files that belong to a transcript file. Where it is says which those are: a user may name it from
    within its agent's folder."""
    return files_beside(path, companions_of(path.absolute().as_posix()))


def _companions(path: Path, document: Document) -> tuple[Document, ...]:
    """Returns the files that belong to a file, and those that its content and theirs refer to, each once."""
    new = _belonging(path)
    found: dict[Path, Document] = {}
    room, readers = _MOST_REFERRED, [document]
    while new or readers:
        parsed = {file.resolve(): (file, parse_file(file)) for file in new}
        found |= {place: replace(one, name=_relative(file, path)) for place, (file, one) in parsed.items()}
        readers += [one for _, one in parsed.values()]
        patterns = [pattern for one in readers for pattern in references_of(replace(one, name=str(path)))]
        new.clear()
        readers.clear()
        for file in sorted(files_beside(path, patterns), key=lambda file: file.stat().st_size):
            room -= file.stat().st_size if file.resolve() not in found else 0
            if room >= 0 and file.resolve() not in found:
                new.append(file)
    return tuple(found.values())


def _relative(file: Path, path: Path) -> str:
    return file.relative_to(path.parent).as_posix() if file.is_relative_to(path.parent) else file.name


# Files and bytes in a folder that is read as one conversation or as one agent's storage. A home folder given by mistake
# has more.
_MOST_FILES, _LARGEST_FOLDER = 50_000, 1 << 30
_TRANSCRIPTS = {".json", ".jsonl", ".md", ".yaml", ".yml", ".txt", ".traj", ".db", ".gz", ".zst"}
# How many of a folder's conversations an error names.
_MOST_NAMED = 10
# Files in one folder that are read to see whether they are one conversation. A folder with more holds several.
_MOST_READ = 20


def read_transcript_file(path: Path, run: int | None = None, origin_id: str = "") -> Document:
    """Returns the contents of a transcript, given as a file or as a folder, with the files that belong to it.

    `run` and `origin_id` are as in `read_file`. Raises `InvalidRequest` if the file can't be read, or if the folder
    holds no conversation, or several that are not kept as one store.
    """
    try:
        return _read_folder(path, run) if path.is_dir() else read_file(path, run, origin_id)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:
        # The path contains a NUL character, or a pattern is not valid.
        raise InvalidRequest(f"cannot read {str(path)!r}: {error}") from error


def conversations_in(folder: Path) -> list[Path]:
    """Returns the files in a folder and its subfolders that hold conversations of a known format and belong to no other
    file, sorted; none if the folder as a whole is one conversation. Raises `InvalidRequest` if it holds more than
    50,000 entries."""
    with suppress(InvalidRequest, OSError):
        _read_folder(folder, None)
        return []
    formats: dict[Path, Format] = {}
    for file in _files_in(folder, largest=sys.maxsize):
        if found := known_format(_parsed(file, folder)):
            formats[file] = found
    return _on_their_own(formats)


def _read_folder(folder: Path, run: int | None) -> Document:
    """Returns the folder as one document if that is how its agent keeps conversations, else its only conversation."""
    documents = {file: _parsed(file, folder) for file in _files_in(folder)}
    whole = Document(name=str(folder), run=run, companions=tuple(documents.values()))
    formats = _formats(documents)
    kept_as = known_format(whole)
    if kept_as and kept_as.reads_folders and all(known is kept_as for known in formats.values()):
        return whole
    found = _conversations(formats) if 1 < len(formats) <= _MOST_READ else list(formats)
    if len(found) == 1:
        return read_file(found[0], run)
    raise InvalidRequest(_several(folder, found, formats) if found else _nothing(folder, list(documents)))


def _files_in(folder: Path, largest: int | None = None) -> list[Path]:
    """Returns the files in a folder and its subfolders that may be transcripts, sorted. Raises `InvalidRequest` as soon
    as the folder has proved to hold more than 50,000 entries or `largest` bytes (1 GiB) of such files."""
    found: list[Path] = []
    size = 0
    for number, file in enumerate(folder.rglob("*")):
        if file.suffix in _TRANSCRIPTS and file.is_file():
            found.append(file)
            size += file.stat().st_size
        if number >= _MOST_FILES or size > (largest or _LARGEST_FOLDER):
            raise InvalidRequest(f"cannot read {folder}: it is too large; name a conversation's own file or folder")
    return sorted(found)


def _parsed(file: Path, folder: Path) -> Document:
    name = file.relative_to(folder).as_posix()
    try:
        document = parse_file(file)
    except InputError:
        return Document(name=name)
    return Document(name=name, value=document.value, problem=document.problem, lines=document.lines)


def _formats(documents: Mapping[Path, Document]) -> dict[Path, Format]:
    """Returns the formats of those files that have one and don't belong to another transcript."""
    known = {file: found for file, document in documents.items() if (found := known_format(document))}
    return {file: known[file] for file in _on_their_own(known)}


def _on_their_own(files: Collection[Path]) -> list[Path]:
    """Returns the files that don't belong to another of them."""
    beside = {companion.resolve() for file in files for companion in _belonging(file)}
    return [file for file in files if file.resolve() not in beside]


def _conversations(files: Iterable[Path]) -> list[Path]:
    """Returns the files that hold messages. Of several files of one conversation only the newest is returned: an agent
    that resumes or reverts a conversation may leave such files."""
    newest: dict[tuple[str, str], tuple[tuple[int, int], Path]] = {}
    for file in files:
        with suppress(InputError):
            transcript = read_document(read_file(file))
            messages = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
            size = (max((message.timestamp for message in messages), default=0), len(messages))
            key = (transcript.agent, transcript.session_id or str(file))
            newest[key] = max(newest.get(key, (size, file)), (size, file), key=itemgetter(0))
    return [file for _, file in newest.values()]


def _several(folder: Path, found: Sequence[Path], formats: Mapping[Path, Format]) -> str:
    newest = sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)
    named = [f"{file.relative_to(folder).as_posix()} ({formats[file].name})" for file in newest[:_MOST_NAMED]]
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"{folder} holds {len(found)} conversations; name one of them, newest first: {', '.join(named)}{more}"


def _nothing(folder: Path, files: Sequence[Path]) -> str:
    if not files:
        return f"{folder} holds no transcript"
    named = ", ".join(file.relative_to(folder).as_posix() for file in files[:_MOST_NAMED])
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return f"{folder} holds no conversation that is known; it holds {named}{more}"


# What SQLite writes changes to first, and its index, which the running agent has.
_AHEAD, _INDEX = "-wal", "-shm"
# Bytes of a database that is copied to be read, because its agent ended without closing it. A larger one is read when
# the agent runs again: there is a copy for each of its conversations.
_MOST_COPIED = 32 << 20


class _Open:
    """An open file of an agent. `stat` is what the operating system said of it when it was opened."""

    def __init__(self, file: BinaryIO, stat: tuple[int, ...]) -> None:
        self._file = file
        self.stat = stat

    def read(self, start: int, most: int) -> bytes:
        self._file.seek(start)
        return self._file.read(most)


class AgentOriginals:
    """The files of this machine."""

    def __init__(self) -> None:
        # How the conversations in databases that were read were described.
        self._read: dict[str, tuple[int, ...]] = {}

    def stat(self, path: str) -> tuple[int, ...]:
        """Returns what the operating system says of a file; an empty tuple if there is no such file."""
        rows = rows_at(path)
        try:
            if rows is None:
                return _described(Path(path).stat())
            now, known = _changed(Path(rows[0])), self._read.get(path)
        except (OSError, ValueError):
            return ()
        return known if known and known[2] == now else (1, 0, now)

    @contextmanager
    def opened(self, path: str) -> Generator[_Open]:
        """Opens a file. Raises `OSError`, and `InvalidRequest` for a database that can't be read."""
        rows = rows_at(path)
        if rows is None:
            with open_plain(path) as file:
                yield _Open(file, _described(os.fstat(file.fileno())))
            return
        database, changed = Path(rows[0]), _changed(Path(rows[0]))
        data = _rows_of(database, rows[1])
        self._read[path] = len(data), 0, changed
        yield _Open(BytesIO(data), self._read[path])

    def beside(self, path: str) -> Sequence[Path]:
        if rows_at(path):
            return []
        file = Path(path)
        try:
            return [one for one in files_beside(file, kept_beside(file.as_posix())) if one != file]
        except (OSError, ValueError, RuntimeError):
            return []


def _described(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_size, stat.st_ino, stat.st_mtime_ns


def _changed(database: Path) -> int:
    """Returns the time at which a database or its write-ahead log was last written, in nanoseconds."""
    own, ahead = database.stat().st_mtime_ns, database.with_name(database.name + _AHEAD)
    try:
        return max(own, ahead.stat().st_mtime_ns)
    except OSError:
        return own


def _rows_of(database: Path, origin_id: str) -> bytes:
    """Returns the rows of one conversation as JSON lines. Raises `OSError` if it is not there."""
    ahead, index = (database.with_name(database.name + ending) for ending in (_AHEAD, _INDEX))
    if ahead.exists() and not index.exists() and database.stat().st_size > _MOST_COPIED:
        raise OSError(f"{database} was not closed; it is read when its agent runs again")
    lines = read_database(database, origin_id).lines
    if not lines:
        raise FileNotFoundError(f"{database} has no conversation {origin_id}")
    return b"".join(msgspec.json.encode(line.value) + b"\n" for line in lines)


# Bytes at either end of what was read that are compared. Most records have their id and time within as many. A file
# that is written again with the same bytes at both places, and other ones between, is taken for the same.
_COMPARED = 4_096
# Bytes of a file of records that are read at once, so that a large file takes no more memory than a small one, and the
# files that are followed with it do not wait for it. A piece ends with a whole line, so it may be longer.
_PIECE = 1 << 20
# Bytes that are read of it at first, if its figures are wanted soon. Most prompts and their first answers have fewer.
_FIRST = 32 << 10
# Bytes of a file's beginning that show whether it is compressed or an archive.
_MAGIC = 512
# Bytes of a large file's first line, in which an agent may say which conversation it is. Codex also writes its
# instructions there.
_HEAD = 64 << 10
# SQLite writes changes to this file first. The database itself may stay as it is for hours.
_WRITE_AHEAD = "-wal"
# Nanoseconds after which a change in that file can be read as well: SQLite makes it visible a moment later.
_VISIBLE = 100_000_000
# Bytes of a line that is too long that are passed over at once, before other files have their turn.
_PASSED = 256 << 20


class _Piece(Struct, frozen=True, kw_only=True):
    """What was read of a file at once. `more` says that there is more. `passed` is how many bytes more than `data` the
    piece has in the file, because lines were passed over, and `last` the last bytes of the piece if they were."""

    data: bytes
    more: bool = False
    passed: int = 0
    last: bytes = b""


class GrowingFiles:
    """The files of this machine. `piece` is the number of bytes that are read of a file of records at once."""

    def __init__(self, piece: int = _PIECE) -> None:
        self._piece = piece

    def has_changed(self, path: Path, mark: Mark | None) -> bool:
        """Returns whether a file has changed since `mark`, or is no longer there."""
        try:
            return mark is None or _stat(path) != mark.stat
        except OSError:
            return True

    def stat(self, path: Path) -> tuple[int, ...]:
        """Returns what the operating system says of a file, as `TranscriptFiles.stat` describes."""
        try:
            return _stat(path)
        except OSError:
            return ()

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        """Returns what has happened to a file since `mark`, as `TranscriptFiles.read_on` describes."""
        try:
            # Before the file is read: what is written meanwhile makes another stat, and is read by the next call.
            stat = _stat(path)
            if mark and stat == mark.stat:
                return None
            appended = _appended(path, mark, stat, self._piece) if mark and mark.offset >= 0 else None
            if appended and not appended.more:
                return replace(appended, companions=with_reports(path, Document(name=str(path))).companions)
            rows = mark.rows if mark else None
            return appended or _anew(path, stat, origin_id, self._size_of(pieces), rows)
        except FileNotFoundError:
            return Missing()
        except OSError as error:
            raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error

    def _size_of(self, pieces: Pieces) -> int | None:
        if pieces is Pieces.NONE:
            return None
        return self._piece if pieces is Pieces.LARGE else min(self._piece, _FIRST)

    def size(self, path: Path) -> int:
        try:
            return path.stat().st_size
        except OSError:
            return 0

    def ends(self, path: Path) -> bytes:
        """Returns a digest of a file's first and last bytes, as `TranscriptFiles.ends` describes."""
        try:
            with open_plain(path) as file:
                first = file.read(_COMPARED)
                file.seek(max(0, file.seek(0, os.SEEK_END) - _COMPARED))
                return sha256(first + file.read(_COMPARED)).digest()
        except OSError:
            return b""

    def digest(self, path: Path, size: int) -> bytes:
        """Returns a digest of a file's first bytes, as `TranscriptFiles.digest` describes."""
        found = sha256()
        try:
            with open_plain(path) as file:
                while size and (data := file.read(min(size, self._piece))):
                    found.update(data)
                    size -= len(data)
        except OSError:
            return b""
        return b"" if size else found.digest()

    def quiet_for(self, path: Path) -> float:
        """Returns the seconds since a file was last written, as `TranscriptFiles.quiet_for` describes."""
        try:
            # The newest of several times; the sizes of other files are among these numbers.
            written = max(_stat(path)[2:])
        except OSError:
            return 0.0
        return max(0.0, time.time() - written / 1e9)

    def read_ends(self, path: Path, most: int) -> Document | None:
        """Returns the first record and the last ones of a file, as `TranscriptFiles.read_ends` describes."""
        try:
            with open_plain(path) as file:
                first = file.readline(_HEAD)
                if file.seek(0, os.SEEK_END) <= most + len(first) or not _is_of_records(first + b"\n{}"):
                    return None
                file.seek(-most, os.SEEK_END)
                # The first of these lines has begun before.
                _, _, tail = file.read(most).partition(b"\n")
        except OSError:
            return None
        lines = (*parse_lines(first), *parse_lines(_whole_lines(tail), 2, is_text=False))
        return with_reports(path, Document(name=str(path), lines=lines))


def _stat(path: Path) -> tuple[int, ...]:
    # The functions of `os` take a third of the time of `Path`, and hundreds of files are looked at every second.
    name = str(path)
    own = os.stat(name)  # noqa: PTH116
    found = own.st_size, own.st_ino, own.st_mtime_ns
    ahead = () if name.endswith(RECORDS) else (name + _WRITE_AHEAD,)
    for other in (*ahead, *read_with(name.replace(os.sep, "/"))):
        with suppress(OSError):
            beside = os.stat(other)  # noqa: PTH116
            found += beside.st_size, beside.st_mtime_ns
    return found


def _appended(path: Path, mark: Mark, stat: tuple[int, ...], piece: int) -> Appended | None:
    """Returns the whole lines after the mark, or None if the file has not only grown."""
    with open_plain(path) as file:
        if file.read(len(mark.head)) != mark.head:
            return None
        file.seek(mark.offset - len(mark.last))
        if file.read(len(mark.last)) != mark.last:
            return None
        read = _read_piece(file, piece)
    data = read.data if read.more or read.last else _whole_lines(read.data)
    lines = parse_lines(data, mark.lines + 1, is_text=mark.is_text)
    return Appended(lines=lines, mark=_moved(mark, data, () if read.more else stat, read), more=read.more)


def _anew(path: Path, stat: tuple[int, ...], origin_id: str, size: int | None, rows: RowsKnown | None) -> Growth:
    """Returns a file from its beginning: the whole, or the first piece, of about `size` bytes; of a database only the
    last messages, if no others have changed since its rows were `rows`."""
    if path.is_dir():
        return Replaced(document=read_transcript_file(path), mark=Mark(stat=stat))
    if is_database(path):
        is_visible = not 0 <= time.time_ns() - stat[-1] < _VISIBLE
        return _read_database_on(path, origin_id, Mark(stat=stat if is_visible else ()), rows)
    with open_plain(path) as file:
        if not is_read_in_pieces(file.read(_MAGIC)):
            return Replaced(document=read_transcript_file(path), mark=Mark(stat=stat))
        file.seek(0)
        head = file.read(_COMPARED)
        file.seek(0)
        piece = _read_piece(file, size) if size else _read_all(file, path)
        head = head if piece.passed else b""
        data, more = piece.data, piece.more
        if more and not piece.passed and data.count(b"\n") == 1:
            # A single line does not show what the others are.
            line = file.readline(LONGEST_LINE)
            is_too_long = len(line) == LONGEST_LINE
            data, more = data if is_too_long else data + line, is_too_long or line.endswith(b"\n")
        if more and not piece.passed and not _is_of_records(data):
            data, more = data + file.read(LARGEST_VALUE), False
            if len(data) > LARGEST_VALUE:
                raise _too_large(path)
    if _is_one_value(data):
        document = with_companions(path, parse_transcript(data, str(path)))
        return Replaced(document=document, mark=Mark(stat=stat))
    data = data if more or piece.last else _whole_lines(data)
    document = parse_transcript(data, str(path))
    # What a file beside it reports is said of its end.
    document = document if more and read_with(path.as_posix()) else with_companions(path, document)
    is_text = bool(document.lines) and document.lines[0].value is None
    mark = _moved(Mark(offset=0, head=head, is_text=is_text), data, () if more else stat, piece)
    return Replaced(document=document, mark=mark, more=more)


def _read_piece(file: BinaryIO, size: int) -> _Piece:
    """Reads on to the end of the file, or `size` bytes and the rest of a line.

    A line that is too long is passed over, as far as it is there: what is written to it later is read as a line of its
    own, which is no record.
    """
    data = file.read(size)
    if len(data) < size:
        return _Piece(data=data)
    line = file.readline(LONGEST_LINE)
    if len(line) < LONGEST_LINE or line.endswith(b"\n"):
        data += line
        return _Piece(data=data, more=data.endswith(b"\n"))
    whole = data[: data.rfind(b"\n") + 1]
    passed, last = len(data) - len(whole) + len(line), line[-_COMPARED:]
    while passed < _PASSED and not last.endswith(b"\n") and (line := file.readline(_PIECE)):
        passed, last = passed + len(line), (last + line)[-_COMPARED:]
    if last.endswith(b"\n"):
        told = TOO_LONG + b"\n" if whole else b"\n"
        whole, passed = whole + told, passed - len(told)
    return _Piece(data=whole, more=file.tell() < os.fstat(file.fileno()).st_size, passed=passed, last=last)


def _read_all(file: BinaryIO, path: Path) -> _Piece:
    """Reads a file to its end. Raises `InvalidRequest` if it is too large."""
    pieces = [_read_piece(file, _PIECE)]
    size, passed = len(pieces[0].data), pieces[0].passed
    while pieces[-1].more:
        pieces.append(_read_piece(file, _PIECE))
        size, passed = size + len(pieces[-1].data), passed + pieces[-1].passed
        if size > LARGEST_VALUE or passed > MOST_PASSED:
            raise _too_large(path)
    return _Piece(data=b"".join(piece.data for piece in pieces), passed=passed, last=pieces[-1].last)


def _too_large(path: Path) -> InvalidRequest:
    return InvalidRequest(f"cannot read {path}: it is too large for a transcript")


def _is_one_value(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is one JSON value on several lines, or the beginning of one. Its
    last line is no record, and what is added to such a file is in its middle."""
    first, _, rest = data.strip().partition(b"\n")
    return first.startswith((b"{", b"[")) and bool(rest) and bool(parse_json(first)[1])


def _is_of_records(data: bytes) -> bool:
    """Returns whether a file that begins with `data` has an object on each line, and is not one object."""
    first, _, rest = data.lstrip(BLANK).partition(b"\n")
    return first.startswith(b"{") and not parse_json(first)[1] and bool(rest.strip())


def _whole_lines(data: bytes) -> bytes:
    """Returns the data without a last line that isn't written to its end. Half of a JSON object is not JSON, so a last
    line that can be parsed is whole even if its line end is missing."""
    end = data.rfind(b"\n") + 1
    rest = data[end:]
    return data if not rest.strip() or not parse_json(rest)[1] else data[:end]


def _moved(mark: Mark, data: bytes, stat: tuple[int, ...], piece: _Piece) -> Mark:
    """Returns the mark after `data`, the whole lines of the piece that follows it."""
    return Mark(
        offset=mark.offset + len(data) + piece.passed,
        lines=mark.lines + data.count(b"\n"),
        # What replaces a line that was passed over is not in the file.
        head=mark.head if piece.passed else (mark.head + data[:_COMPARED])[:_COMPARED],
        last=piece.last or (mark.last + data[-_COMPARED:])[-_COMPARED:],
        stat=stat,
        is_text=mark.is_text,
    )
