"""The MCP servers that a client offers and their tools, as values, and what a server asks the user (elicitation)."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Literal

from msgspec import Struct

from ullage.model.message import ToolDefinition

# Of a tool's name that a model uses: providers refuse longer ones and other characters (`formats/turns.py`).
_LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
# Before the name of every tool of an MCP server, as in other agents.
PREFIX = "mcp__"


class StdioServer(Struct, frozen=True, kw_only=True):
    """A server that is started as a program. `env` is what the client gives it besides `PATH`, `HOME` and the like."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class HttpServer(Struct, frozen=True, kw_only=True):
    """A server that is reached by MCP's streamable HTTP, with the headers that the client gives."""

    name: str
    url: str
    headers: dict[str, str] = {}


Server = StdioServer | HttpServer


class OfferedTool(Struct, frozen=True, kw_only=True):
    """A tool of a server. `name` is the server's name for it, `definition` has the name that a model uses. `only_reads`
    is what the server says of it, which is not checked."""

    name: str
    title: str
    definition: ToolDefinition
    only_reads: bool


def name_for_model(server: str, tool: str, taken: Collection[str]) -> str:
    """Returns the name by which a model calls a server's tool: legal at every provider, and not one of `taken`."""
    whole = PREFIX + "__".join(_ILLEGAL.sub("_", part) for part in (server, tool))
    if len(whole) <= _LONGEST_NAME and whole not in taken:
        return whole
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST_NAME - len(digest) - 1]}_{digest}"


def title_of_call(name: str) -> str:
    """Returns the title of a call of a tool that is not there, by the name that the model used: `server: tool`."""
    server, _, tool = name.removeprefix(PREFIX).partition("__")
    return f"{server}: {tool}" if tool else name


def input_schema(schema: Any) -> dict[str, Any]:
    """Returns the schema of a tool's input as providers accept it: the schema of an object."""
    return {**schema, "type": "object"} if isinstance(schema, dict) else {"type": "object"}


class AskedForm(Struct, frozen=True, kw_only=True):
    """A form: `fields` are the schemas of its fields by name, as JSON Schema, and `required` names those that the user
    must fill in."""

    message: str
    fields: dict[str, Any]
    required: tuple[str, ...] = ()


class AskedVisit(Struct, frozen=True, kw_only=True):
    """An address that the user is asked to open. `id` is the server's for this question, "" if it gave none."""

    message: str
    url: str
    id: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """The user's answer: `accept` with the fields of the form, `decline`, or `cancel` for none."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


# Takes the server's name and what it asks; returns once the user has answered, however long that takes.
Elicit = Callable[[str, AskedForm | AskedVisit], Awaitable[Answer]]
