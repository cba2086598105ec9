"""The tools: what a client lists, and what the arguments of a call are. All of them only read."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from ullage.model.json_values import JsonObject
from ullage.model.updates import TextContent

# The beginning of the tools' names as clients list them. Not every client adds the server's name to that of a tool, and
# other servers have tools that are called "search" and "open", too.
PREFIX = "ullage_"
_MOST_PAGES = 100_000


class SearchInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `search`."""

    query: Annotated[
        str, Meta(min_length=1, max_length=1_000, description="Names as they stood, words, or a plain question.")
    ]
    scope: Annotated[
        Literal["session", "project", "team"],
        Meta(
            description="This conversation (session), all stored conversations about this folder (project), or what "
            "the user's team shares, where there is an archive of one (team)."
        ),
    ] = "session"
    limit: Annotated[int, Meta(ge=1, le=20, description="How many passages.")] = 8


class OpenInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `open`."""

    ref: Annotated[
        str,
        Meta(min_length=1, max_length=200, description="A reference from search: #85, #80-90, or SESSION#85."),
    ]
    page: Annotated[int, Meta(ge=1, le=_MOST_PAGES, description="Which page.")] = 1


class ContextInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `context`: none."""


class LostInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `lost`."""

    kind: Annotated[
        Literal["said", "task", "problem", "check", "commit", "file", "job", "words", "earlier"] | None,
        Meta(description="Only one kind, so that more of it has room. Without it, what is needed most of all kinds."),
    ] = None


class ToolHints(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `ToolAnnotations`: the tools read stored conversations and nothing else."""

    title: str
    read_only_hint: bool = True
    destructive_hint: bool = False
    idempotent_hint: bool = True
    open_world_hint: bool = False


class ListedTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `Tool`. `input_schema` is a JSON Schema."""

    name: str
    title: str
    description: str
    input_schema: JsonObject
    annotations: ToolHints


class CallToolResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `CallToolResult`. `is_error` says that the text is an error, which says what the model must change."""

    content: tuple[TextContent, ...]
    is_error: bool = False


class CallToolParams(Struct, frozen=True, kw_only=True):
    """MCP's `CallToolRequest`. `meta` is what the client adds about the request."""

    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any], name="_meta")


class Tool(Struct, frozen=True, kw_only=True):
    """A tool: how it is listed, and the type of its arguments. `ANSWERS` of `looking_up` has the function that returns
    the text of its result. Its name is without `PREFIX`."""

    name: str
    title: str
    description: str
    arguments: type[Struct]

    @property
    def listed(self) -> ListedTool:
        whole = msgspec.json.schema(self.arguments)["$defs"][self.arguments.__name__]
        # Of no use to a model, which pays for each word.
        schema = {key: value for key, value in whole.items() if key not in ("title", "description")}
        schema["properties"] = {name: _without_null(value) for name, value in whole["properties"].items()}
        hints = ToolHints(title=self.title)
        return ListedTool(
            name=PREFIX + self.name,
            title=self.title,
            description=self.description,
            input_schema=schema,
            annotations=hints,
        )

    def read(self, arguments: dict[str, Any] | None) -> Struct:
        """Returns a call's arguments; a list's word may be in the plural. Raises `msgspec.ValidationError`."""
        given = {name: self._singular(name, value) for name, value in (arguments or {}).items()}
        return msgspec.convert(given, self.arguments)

    @property
    def usage(self) -> str:
        """The arguments, and the words that each may be if only some may."""
        required = self.listed.input_schema.get("required", ())
        texts = [
            f"`{name}`{' (required)' if name in required else ''}{self._words(name)}"
            for name in self.arguments.__struct_fields__
        ]
        return ", ".join(texts) or "none"

    def _choices(self, name: str) -> Sequence[str]:
        return self.listed.input_schema["properties"].get(name, {}).get("enum", ())

    def _words(self, name: str) -> str:
        return f": {', '.join(words)}" if (words := self._choices(name)) else ""

    def _singular(self, name: str, value: Any) -> Any:
        is_plural = isinstance(value, str) and value not in self._choices(name)
        return value.removesuffix("s") if is_plural and value.removesuffix("s") in self._choices(name) else value


TOOLS = (
    Tool(
        name="search",
        title="Search this conversation",
        description="Finds messages of this conversation, also those that were compacted and are no longer in your "
        "context. Ask with names as they stood (files, functions, error texts, numbers), or in plain words. Returns "
        "the best passages, each with a reference for `ullage_open`. Use it before you ask the user again, or read, "
        "run or work out again what was there before.",
        arguments=SearchInput,
    ),
    Tool(
        name="open",
        title="Open messages of this conversation",
        description="Returns a message by its reference (#85), or a stretch of up to 50 messages (#80-90), as it was "
        "said: texts, tool calls and their results. Long ones come in pages.",
        arguments=OpenInput,
    ),
    Tool(
        name="context",
        title="How full the context is",
        description="Returns how many tokens your context holds, of which window, how that is known, where it is "
        "compacted, how many calls are left until then, and which messages are the biggest.",
        arguments=ContextInput,
    ),
    Tool(
        name="lost",
        title="What the last compaction left out",
        description="Returns what the last compaction left out: what the user said, word for word, "
        "open tasks and problems, checks, the last commit, changed files, and what you told the user, each with the "
        "number of its message. Call it once after a compaction, before you go on.",
        arguments=LostInput,
    ),
)


def listed_tools(*, has_team: bool) -> tuple[ListedTool, ...]:
    """Returns the tools as a client lists them. Without a team there is no scope of one."""
    listed = tuple(tool.listed for tool in TOOLS)
    return listed if has_team else tuple(map(_without_team, listed))


def _without_team(tool: ListedTool) -> ListedTool:
    scope = tool.input_schema["properties"].get("scope")
    if scope is None:
        return tool
    described = "This conversation (session), or all stored conversations about this folder (project)."
    alone = {**scope, "enum": [word for word in scope["enum"] if word != "team"], "description": described}
    properties = {**tool.input_schema["properties"], "scope": alone}
    return replace(tool, input_schema={**tool.input_schema, "properties": properties})


def _without_null(schema: JsonObject) -> JsonObject:
    """Returns the schema of an optional argument: null is accepted, but some models' APIs take no `anyOf`."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{key: value for key, value in schema.items() if key not in ("anyOf", "default")}}
