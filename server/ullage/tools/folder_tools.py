"""The tools on the session's folder. They read, list and search, and change nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_text
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind, ToolLocation
from ullage.service.ports.models import ToolAbout, ToolOutcome
from ullage.tools.folder import ListFilesInput, list_files
from ullage.tools.read_file import ReadFileInput, find_file, read_text, show_lines
from ullage.tools.search_text import SearchTextInput, search_text
from ullage.tools.tool import Call, Tool

# Takes a session id and a file's whole path; gives the file's text in the user's editor, or None if it isn't open
# there.
OpenText = Callable[[str, str], Awaitable[str | None]]


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
