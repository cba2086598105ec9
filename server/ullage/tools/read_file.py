"""`read_file`: shows the lines of a text file with their numbers."""

from pathlib import Path

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.tools.folder import resolve_inside
from ullage.tools.plain_file import read_plain

# About 25,000 tokens; a model that needs more asks for the lines it needs.
_MOST_CHARS = 100_000
_MOST_LINES = 2_000
# A longer line is data, not text.
_LONGEST_LINE = 2_000
# Some 100,000 lines. A larger file would take as many times its size in memory as it has short lines.
_MOST_BYTES = 10_000_000


class ReadFileInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the tool `read_file`. `path` is relative to the session's folder. `start_line` counts from 1."""

    path: str
    start_line: int = 1
    line_count: int = _MOST_LINES


def find_file(cwd: str, name: str) -> Path:
    """Returns the absolute path of the file `name` in the folder `cwd`. Raises `InvalidRequest` if there is no such
    file inside the folder."""
    path = resolve_inside(cwd, name)
    if not path.is_file():
        raise InvalidRequest(f"{name!r} is not a file; list_files shows what there is")
    return path


def read_text(cwd: str, path: Path, name: str) -> str:
    """Returns the file's text; bytes that are not UTF-8 are replaced. Of a file larger than 10 MB the text of the first
    10 MB is returned, and a last line that says so. `name` is the file's name in errors. Raises `InvalidRequest` if the
    file cannot be read or its beginning holds a NUL byte."""
    try:
        data = read_plain(Path(cwd).resolve(), path, _MOST_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(f"{name!r} cannot be read: {error.strerror or error}") from error
    if b"\0" in data[:8_192]:
        raise InvalidRequest(f"{name!r} is not a text file")
    if len(data) <= _MOST_BYTES:
        return data.decode(errors="replace")
    return f"{data[:_MOST_BYTES].decode(errors='replace')}\n[only the first {_MOST_BYTES:,} bytes of the file are read]"


def show_lines(text: str, given: ReadFileInput) -> str:
    """Returns the requested lines of `text`, each with its number and a tab. At most 2,000 lines and 100,000 characters
    are shown, and a line of more than 2,000 characters is cut. If lines are left, a last line says how to continue."""
    lines = text.splitlines()
    first = max(1, given.start_line)
    shown = lines[first - 1 : first - 1 + min(max(1, given.line_count), _MOST_LINES)]
    numbered: list[str] = []
    size = 0
    for number, line in enumerate(shown, start=first):
        cut = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… [{len(line):,} characters]"
        size += len(cut)
        if size > _MOST_CHARS:
            break
        numbered.append(f"{number:>6}\t{cut}")
    last = first - 1 + len(numbered)
    more = f"\n[{len(lines) - last:,} more lines; go on with start_line {last + 1}]" if last < len(lines) else ""
    return "\n".join(numbered) + more or "[The file is empty.]"
