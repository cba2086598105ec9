"""`search_text`: finds matching lines in the session's files."""

import time
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.tools.folder import resolve_inside, walk_files
from ullage.tools.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Pattern

_MOST = 200
_LONGEST_LINE = 300
# Larger files are data.
_MOST_BYTES = 2_000_000
# Seconds for one search, and for one line, because a pattern can take exponential time.
_PATIENCE = 10.0
_LINE_PATIENCE = 0.5


class SearchTextInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the tool `search_text`. `pattern` is a regular expression. `path` is a file or folder relative to the
    session's folder. `files` is a glob on each file's path relative to the session's folder."""

    pattern: str
    path: str = "."
    files: str = "*"


def search_text(cwd: str, given: SearchTextInput) -> str:
    """Returns the matching lines of the files in the session's folder `cwd`, as `path:line: text`. At most 200 are
    listed; a last line says if there are more, or if the search took over 10 seconds and was ended. If no line matches,
    a line says so. Raises `InvalidRequest` for an invalid pattern or path, or a pattern that takes too long on one
    line."""
    pattern = _compile(given.pattern)
    folder = resolve_inside(cwd, given.path)
    root = Path(cwd).resolve()
    paths = [folder] if folder.is_file() else walk_files(folder, cwd)
    wanted = (path for path in paths if fnmatch(path.relative_to(root).as_posix(), given.files))
    deadline = time.monotonic() + _PATIENCE
    found = list(islice((match for path in wanted for match in _matches(path, root, pattern, deadline)), _MOST + 1))
    more = f"\n[more than {_MOST} matches; narrow it with path, files or pattern]" if len(found) > _MOST else ""
    late = "\n[the search took too long and was not finished]" if time.monotonic() > deadline else ""
    return "\n".join(found[:_MOST]) + more + late or "[No line matches.]"


def _compile(pattern: str) -> "Pattern[str]":
    import regex  # noqa: PLC0415  (10 ms to import, which only a search needs)

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise InvalidRequest(f"{pattern!r} is not a regular expression: {error}") from error


def _matches(path: Path, root: Path, pattern: "Pattern[str]", deadline: float) -> Iterator[str]:
    try:
        if time.monotonic() > deadline:
            return
        data = read_plain(root, path, _MOST_BYTES + 1)
    except OSError:
        return
    if len(data) > _MOST_BYTES or b"\0" in data[:8_192]:
        return
    name = path.relative_to(root).as_posix()
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        if _found(pattern, line):
            yield f"{name}:{number}: {line.strip()[:_LONGEST_LINE]}"


def _found(pattern: "Pattern[str]", line: str) -> bool:
    try:
        # `concurrent` releases the interpreter lock, so that the event loop runs meanwhile.
        return pattern.search(line, concurrent=True, timeout=_LINE_PATIENCE) is not None
    except TimeoutError as error:
        raise InvalidRequest(f"{pattern.pattern!r} takes too long on a line; write a simpler pattern") from error
