"""Reads one transcript file: plain, compressed or a SQLite database."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.transcripts import companions_of, conversation_tables, references_of
from ullage.formats.parsing import Document, Line, parse_document
from ullage.model.errors import InvalidRequest
from ullage.watch.unpacking import is_packed, read_content, unpack

_SQLITE = b"SQLite format 3\0"
# Bytes of the files that a transcript's content refers to. The smaller files are read; of a conversation whose file is
# left out, its reader says that the file is missing.
_MOST_REFERRED = 256 << 20


def read_file(path: Path, run: int | None = None) -> Document:
    """Returns the contents of a transcript file with the files that belong to it.

    `run` chooses one of several conversations, counted from 1. Raises `InvalidRequest` if the file can't be read.
    """
    try:
        return with_companions(path, parse_file(path, run))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:
        # The path contains a NUL character, or a pattern is not valid.
        raise InvalidRequest(f"cannot read {str(path)!r}: {error}") from error


def with_companions(path: Path, document: Document) -> Document:
    """Returns a file's document with the files that belong to the file. Raises `InvalidRequest` for a damaged one, and
    `OSError`."""
    companions = _companions(path, document)
    return replace(document, companions=companions) if companions else document


def parse_file(path: Path, run: int | None = None) -> Document:
    """Returns the contents of a transcript file alone. Raises `InvalidRequest` for a damaged one, and `OSError`."""
    if is_database(path):
        return replace(read_database(path), run=run)
    return parse_document(read_content(path), str(path), run)


def is_database(path: Path) -> bool:
    """Returns whether a file is a SQLite database. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def read_database(path: Path, origin_id: str = "") -> Document:
    """Returns the rows of an agent's database: of all conversations, or of the one to which the agent gave the id
    `origin_id`. Raises `InvalidRequest` if the database can't be read."""
    # SQLite is imported on first use: the doors start without it.
    read_rows = import_module("ullage.watch.database_rows").read_rows
    rows: tuple[Line, ...] = read_rows(path, conversation_tables(), origin_id)
    return Document(name=str(path), lines=rows, origin_id=origin_id)


def parse_transcript(data: bytes, name: str, run: int | None = None) -> Document:
    """Parses the bytes of a transcript file, compressed or not. `name` is its name in errors. Raises `InvalidRequest`
    for a damaged compressed file."""
    return parse_document(unpack(data, name), name, run)


def is_read_in_pieces(data: bytes) -> bool:
    """Returns whether a file that begins with `data` is text, which can be read on where an earlier read ended."""
    return not data.startswith(_SQLITE) and not is_packed(data)


def files_beside(path: Path, patterns: Iterable[str]) -> list[Path]:
    """Returns the files that match patterns relative to a file's folder, sorted."""
    return sorted({file for pattern in patterns for file in path.parent.glob(pattern) if file.is_file()})


def _companions(path: Path, document: Document) -> tuple[Document, ...]:
    """Returns the files that belong to a file, and those that its content and theirs refer to, each once."""
    new = files_beside(path, companions_of(path.as_posix()))
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
