"""Finds the conversation in a file or a folder, and reads it with the files that belong to it.

Nothing is ever written next to an agent's files.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from ullage.agents.transcripts import companions_of, known_format, read_document
from ullage.formats.parsing import Document
from ullage.formats.transcripts.format import Format
from ullage.model.errors import InputError, InvalidRequest
from ullage.model.events import MessageAppended
from ullage.system.single_files import files_beside, parse_file, read_file

# Files and bytes in a folder that is read as one conversation or as one agent's storage. A home folder given by mistake
# has more.
_MOST_FILES, _LARGEST_FOLDER = 50_000, 1 << 30
_TRANSCRIPTS = {".json", ".jsonl", ".md", ".yaml", ".yml", ".txt", ".traj", ".db", ".gz", ".zst"}
# How many of a folder's conversations an error names.
_MOST_NAMED = 10
# Files in one folder that are read to see whether they are one conversation. A folder with more holds several.
_MOST_READ = 20


def read_transcript_file(path: Path, run: int | None = None) -> Document:
    """Returns the contents of a transcript, given as a file or as a folder, with the files that belong to it.

    `run` chooses one of several conversations, counted from 1. Raises `InvalidRequest` if the file can't be read, or if
    the folder holds no conversation, or several that are not kept as one store.
    """
    try:
        return _read_folder(path, run) if path.is_dir() else read_file(path, run)
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
    beside = {companion.resolve() for file in files for companion in files_beside(file, companions_of(file.as_posix()))}
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
