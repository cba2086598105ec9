"""What a tool is, and the tools on the session's folder: list its files, search their text, and read a file. They
change nothing.
"""

import asyncio
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
from ullage.tools.reachable_files import read_plain, resolve_inside, walk_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Pattern


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
    """Returns a coroutine function that runs `look` in a thread, because reading a folder blocks for as long as the
    disk takes."""

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
