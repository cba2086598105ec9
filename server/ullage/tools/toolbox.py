"""All tools behind the one port."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.blocks import ToolUseBlock
from ullage.model.errors import UllageError
from ullage.model.json_values import as_text
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind, ToolLocation
from ullage.service.model_ports import ToolAbout, ToolOutcome
from ullage.tools.list_files import ListFilesInput, list_files
from ullage.tools.read_file import ReadFileInput, read_file
from ullage.tools.search_text import SearchTextInput, search_text


class Tool(Struct, frozen=True, kw_only=True):
    """One tool on the session's folder. `run` blocks, so it is called in a thread."""

    name: str
    kind: ToolKind
    doing: str
    description: str
    input: type[Struct]
    run: Callable[[str, Any], str]


_TOOLS = (
    Tool(
        name="read_file",
        kind=ToolKind.READ,
        doing="Read",
        description="Reads a text file of the project, with line numbers.",
        input=ReadFileInput,
        run=read_file,
    ),
    Tool(
        name="list_files",
        kind=ToolKind.SEARCH,
        doing="List",
        description="Lists the project's files, optionally under a folder or by a glob pattern.",
        input=ListFilesInput,
        run=list_files,
    ),
    Tool(
        name="search_text",
        kind=ToolKind.SEARCH,
        doing="Search",
        description="Finds the lines of the project's files that match a regular expression.",
        input=SearchTextInput,
        run=search_text,
    ),
)


class LocalToolbox:
    """Finds a call's tool and makes the call."""

    def __init__(self) -> None:
        self._tools = {tool.name: tool for tool in _TOOLS}

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(
            ToolDefinition(name=tool.name, description=tool.description, input_schema=_schema(tool.input))
            for tool in self._tools.values()
        )

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        tool = self._tools.get(use.name)
        if tool is None:
            return ToolAbout(title=use.name, kind=ToolKind.OTHER)
        subject = as_text(use.input.get("pattern")) or as_text(use.input.get("path"))
        path = as_text(use.input.get("path"))
        return ToolAbout(
            title=f"{tool.doing} {subject}".strip(),
            kind=tool.kind,
            locations=(ToolLocation(path=path),) if path else (),
            needs_permission=True,
        )

    async def run(self, _session_id: str, cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        tool = self._tools.get(use.name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolOutcome(text=f"There is no tool {use.name!r}; there are {known}.", is_error=True)
        try:
            given = msgspec.convert(use.input, tool.input)
            return ToolOutcome(text=await asyncio.to_thread(tool.run, cwd, given))
        except msgspec.ValidationError as error:
            return ToolOutcome(text=f"{tool.name}: {error}", is_error=True)
        except UllageError as error:
            return ToolOutcome(text=str(error), is_error=True)


def _schema(given: type[Struct]) -> dict[str, Any]:
    """The input's JSON Schema, without references, which not every provider follows."""
    (schema,), components = msgspec.json.schema_components([given])
    named = components[schema["$ref"].rsplit("/", 1)[-1]]
    return {"type": "object", **{key: named[key] for key in ("properties", "required") if key in named}}
