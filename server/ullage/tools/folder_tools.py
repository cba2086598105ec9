"""What a tool is, and the tools on the session's folder: list its files, search their text, and read a file. They
change nothing.

What the tools on files may look at: paths that stay inside a folder, the files worth listing, and plain files.

A session has its folder, the further folders that its client has opened, and what the user has just permitted outside
of them. Only plain files are read: never a pipe, whose reading may never end, and never through a link that leads out
of the folder.
"""

import asyncio
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_text
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind, ToolLocation
from ullage.service.ports.models import ToolAbout, ToolOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Pattern

# Folders that other programs make: their thousands of files say nothing about the project.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
)
# Characters: Linux's PATH_MAX, the longest of any system. It also keeps an error that repeats the path short.
_LONGEST_PATH = 4_096
# Windows has none of these flags; there a folder holds neither named pipes nor devices.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_PATH opens a folder that may be entered but not listed, as a path through it does.
_OPEN_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_OPEN_FILE = (
    os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
_BY_DESCRIPTOR = bool(_NO_FOLLOW) and os.open in os.supports_dir_fd


def resolve_inside(cwd: str, path: str) -> Path:
    """Returns the absolute path of `path`, which is relative to the folder `cwd`, with links followed. The file need
    not exist. Raises `InvalidRequest` if the result is not inside `cwd`, if the system cannot follow the path, or if
    `cwd` is not a folder."""
    if "\0" in path:
        raise InvalidRequest("a path cannot hold a NUL character")
    if len(path) > _LONGEST_PATH:
        raise InvalidRequest(f"a path of {len(path):,} characters is too long; at most {_LONGEST_PATH:,} are possible")
    try:
        if not cwd or not Path(cwd).is_dir():
            raise InvalidRequest("this session has no folder, so there are no files to look at")
        root = Path(cwd).resolve()
        found = (root / path).resolve()
        # Asks the system, which may refuse the path, for example because a name in it is too long.
        found.exists()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError) as error:
        raise InvalidRequest(f"{path!r} cannot be followed: {getattr(error, 'strerror', None) or error}") from error
    if not found.is_relative_to(root):
        raise InvalidRequest(f"{path!r} is outside the session's folder {root}; only what is inside can be read")
    return found


def walk_files(root: Path, cwd: str) -> Iterator[Path]:
    """Yields the plain files in a folder and its subfolders, sorted by name, without the folders of `SKIPPED`. Pipes,
    devices and sockets are left out, because reading one may never end. Files whose link leads out of `cwd` or nowhere
    are left out, and folders that are links are not entered."""
    inside = Path(cwd).resolve()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            path = Path(folder, name)
            if _is_plain(path, inside):
                yield path


def _is_plain(path: Path, inside: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            return stat.S_ISREG(mode)
        target = path.resolve(strict=True)
        return target.is_relative_to(inside) and target.is_file()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError):
        return False


class Reach(Struct, frozen=True, kw_only=True):
    """What one session's tools may look at without asking: its folder `cwd`, and the folders `further`."""

    cwd: str
    further: tuple[str, ...] = ()


class Spot(Struct, frozen=True, kw_only=True):
    """Where a call looks: `path`, in the folder `folder` that it may not leave."""

    folder: str
    path: str


def open_spot(reach: Reach, path: str) -> Spot | None:
    """Returns where a call with this path looks, if that is inside one of the folders, with links followed. `path` is
    relative to the session's folder, or absolute. Returns None if it is outside, or cannot be followed."""
    found = resolved(reach.cwd, path)
    if found is None:
        return None
    if _holds(reach.cwd, found):
        return Spot(folder=reach.cwd, path=path)
    return next((Spot(folder=one, path=str(found)) for one in reach.further if _holds(one, found)), None)


def permitted_spot(found: Path) -> Spot:
    """Returns where a call looks that the user has permitted for `found`, a file or folder outside: only there."""
    folder = found if found.is_dir() else found.parent
    return Spot(folder=str(folder), path=str(found))


def resolved(cwd: str, path: str) -> Path | None:
    """Returns the absolute path, with links followed, or None if the system cannot follow it or there is no file."""
    try:
        return (Path(cwd) / path).resolve(strict=True) if cwd else None
    # RuntimeError: links that lead to each other, before Python 3.13. ValueError: a NUL character.
    except (OSError, RuntimeError, ValueError):
        return None


def _holds(folder: str, found: Path) -> bool:
    root = resolved(folder, ".")
    return root is not None and found.is_relative_to(root)


def read_plain(root: Path, path: Path, most: int) -> bytes:
    """Returns the first `most` bytes of a file inside the folder `root`. `root` is resolved; `path` is absolute, and a
    link in it is followed if it leads to a file inside `root`.

    Each step goes from an open folder to a name in it, so that a link which another program puts there after the check
    is not followed. Raises `OSError` if the file cannot be read, lies outside `root`, or is no plain file.
    """
    try:
        inner = path.resolve().relative_to(root)
    except (RuntimeError, ValueError) as error:
        raise OSError(str(error)) from error
    descriptor = _open_inside(root, inner)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a plain file")
        return file.read(most)


def _open_inside(root: Path, inner: Path) -> int:
    if not _BY_DESCRIPTOR:
        return os.open(root / inner, _OPEN_FILE)
    folder = os.open(root, _OPEN_FOLDER & ~_NO_FOLLOW)
    try:
        for name in inner.parts[:-1]:
            outer, folder = folder, os.open(name, _OPEN_FOLDER, dir_fd=folder)
            os.close(outer)
        return os.open(inner.name, _OPEN_FILE, dir_fd=folder)
    finally:
        os.close(folder)


class Call(Struct, frozen=True, kw_only=True):
    """One call of a tool: the session in which it is made, that session's folder, and the input as the model wrote it.
    Of a call that reads files, `cwd` is the folder that it may not leave."""

    session_id: str
    cwd: str
    input: dict[str, Any]


class Tool(Struct, frozen=True, kw_only=True):
    """One tool that a model may call. `about` describes a call for the user and never fails, whatever the input. `run`
    runs a call, and raises `UllageError` if it fails; the model reads the error's text. `reads` says that the tool
    looks at files, and so must be asked for where the user wants to be asked."""

    definition: ToolDefinition
    about: Callable[[dict[str, Any]], ToolAbout]
    run: Callable[[Call], Awaitable[ToolOutcome]]
    reads: bool = False


_MOST_FILES = 500
_MOST_MATCHES = 200
_LONGEST_MATCH = 300
# Larger files are data.
_MOST_SEARCHED_BYTES = 2_000_000
# Seconds for one search, and for one line, because a pattern can take exponential time.
_PATIENCE = 10.0
_LINE_PATIENCE = 0.5
# About 25,000 tokens; a model that needs more asks for the lines it needs.
_MOST_CHARS = 100_000
_MOST_LINES = 2_000
# A longer line is data, not text.
_LONGEST_READ_LINE = 2_000
# Some 100,000 lines. A larger file would take as many times its size in memory as it has short lines.
_MOST_BYTES = 10_000_000
# Takes a session id and a file's whole path; gives the file's text in the user's editor, or None if it isn't open
# there.
OpenText = Callable[[str, str], Awaitable[str | None]]


class ListFilesInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the tool `list_files`. `path` is a folder, relative to the session's folder. `pattern` is a glob
    (`fnmatch`) on each file's path relative to the session's folder, not to `path`; `*` also matches `/`."""

    path: str = "."
    pattern: str = "*"


def list_files(cwd: str, given: ListFilesInput) -> str:
    """Returns the paths of the matching files in the folder and its subfolders, relative to the session's folder `cwd`,
    one per line. At most 500 are listed, with a last line that says that there are more. If no file matches, a line
    says so. Raises `InvalidRequest` if the path is not a folder inside the session's folder."""
    folder = resolve_inside(cwd, given.path)
    if not folder.is_dir():
        raise InvalidRequest(f"{given.path!r} is not a folder")
    root = Path(cwd).resolve()
    names = (path.relative_to(root).as_posix() for path in walk_files(folder, cwd))
    found = list(islice((name for name in names if fnmatch(name, given.pattern)), _MOST_FILES + 1))
    more = f"\n[more than {_MOST_FILES} files; narrow it with pattern]" if len(found) > _MOST_FILES else ""
    return "\n".join(found[:_MOST_FILES]) + more or "[No file matches.]"


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
    found = list(
        islice((match for path in wanted for match in _matches(path, root, pattern, deadline)), _MOST_MATCHES + 1)
    )
    more = (
        f"\n[more than {_MOST_MATCHES} matches; narrow it with path, files or pattern]"
        if len(found) > _MOST_MATCHES
        else ""
    )
    late = "\n[the search took too long and was not finished]" if time.monotonic() > deadline else ""
    return "\n".join(found[:_MOST_MATCHES]) + more + late or "[No line matches.]"


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
        data = read_plain(root, path, _MOST_SEARCHED_BYTES + 1)
    except OSError:
        return
    if len(data) > _MOST_SEARCHED_BYTES or b"\0" in data[:8_192]:
        return
    name = path.relative_to(root).as_posix()
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        if _is_match(pattern, line):
            yield f"{name}:{number}: {line.strip()[:_LONGEST_MATCH]}"


def _is_match(pattern: "Pattern[str]", line: str) -> bool:
    try:
        # `concurrent` releases the interpreter lock, so that the event loop runs meanwhile.
        return pattern.search(line, concurrent=True, timeout=_LINE_PATIENCE) is not None
    except TimeoutError as error:
        raise InvalidRequest(f"{pattern.pattern!r} takes too long on a line; write a simpler pattern") from error


class ReadFileInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the tool `read_file`. `path` is relative to the session's folder. `start_line` counts from 1."""

    path: str
    start_line: int = 1
    line_count: int = _MOST_LINES


def find_file(cwd: str, name: str) -> Path:
    """Returns the absolute path of the file `name` in `cwd`. Raises `InvalidRequest` if it is not in there."""
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
        cut = line if len(line) <= _LONGEST_READ_LINE else f"{line[:_LONGEST_READ_LINE]}… [{len(line):,} characters]"
        size += len(cut)
        if size > _MOST_CHARS:
            break
        numbered.append(f"{number:>6}\t{cut}")
    last = first - 1 + len(numbered)
    more = f"\n[{len(lines) - last:,} more lines; go on with start_line {last + 1}]" if last < len(lines) else ""
    return "\n".join(numbered) + more or "[The file is empty.]"


class _Look(Struct, frozen=True, kw_only=True):
    """One of the tools on the session's folder: its name, its description, and the function that runs a call with an
    `input` of that type. `doing` is the verb of a call's title."""

    name: str
    doing: str
    kind: ToolKind
    description: str
    input: type[Struct]
    run: Callable[[Call, Any], Awaitable[str]]

    def about(self, given: dict[str, Any]) -> ToolAbout:
        path = as_text(given.get("path"))
        return ToolAbout(
            title=f"{self.doing} {as_text(given.get('pattern')) or path}".strip(),
            kind=self.kind,
            locations=(ToolLocation(path=path),) if path else (),
        )

    async def call(self, call: Call) -> ToolOutcome:
        try:
            given = msgspec.convert(call.input, self.input)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"{self.name}: {error}") from None
        return ToolOutcome(text=await self.run(call, given))


def _in_thread(look: Callable[[str, Any], str]) -> Callable[[Call, Any], Awaitable[str]]:
    """Returns a coroutine function that runs `look` in a thread: reading a folder blocks on the disk."""

    async def run(call: Call, given: Any) -> str:
        return await asyncio.to_thread(look, call.cwd, given)

    return run


def _reading(open_text: OpenText) -> Callable[[Call, ReadFileInput], Awaitable[str]]:
    """Returns the function that runs `read_file`. If the file is open in the user's editor, it reads the editor's text,
    because the user may not have saved it."""

    async def run(call: Call, given: ReadFileInput) -> str:
        path = await asyncio.to_thread(find_file, call.cwd, given.path)
        text = await open_text(call.session_id, str(path))
        return show_lines(
            await asyncio.to_thread(read_text, call.cwd, path, given.path) if text is None else text, given
        )

    return run


_LOOKS = (
    _Look(
        name="list_files",
        kind=ToolKind.SEARCH,
        doing="List",
        description="Lists the project's files, optionally under a folder or by a glob pattern.",
        input=ListFilesInput,
        run=_in_thread(list_files),
    ),
    _Look(
        name="search_text",
        kind=ToolKind.SEARCH,
        doing="Search",
        description="Finds the lines of the project's files that match a regular expression.",
        input=SearchTextInput,
        run=_in_thread(search_text),
    ),
)


def folder_tools(open_text: OpenText) -> tuple[Tool, ...]:
    """Returns the tools that read, list and search the session's folder. `open_text` returns a file's text as the
    user's editor holds it, or None if the file is not open there."""
    read_file = _Look(
        name="read_file",
        kind=ToolKind.READ,
        doing="Read",
        description="Reads a text file of the project, with line numbers.",
        input=ReadFileInput,
        run=_reading(open_text),
    )
    return tuple(
        Tool(
            definition=ToolDefinition(name=look.name, description=look.description, input_schema=_schema(look.input)),
            about=look.about,
            run=look.call,
            reads=True,
        )
        for look in (read_file, *_LOOKS)
    )


def _schema(given: type[Struct]) -> dict[str, Any]:
    """Returns the JSON Schema of a struct without references, which some providers don't resolve."""
    (schema,), components = msgspec.json.schema_components([given])
    named = components[schema["$ref"].rsplit("/", 1)[-1]]
    return {"type": "object", **{key: named[key] for key in ("properties", "required") if key in named}}
