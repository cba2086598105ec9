"""The resources: the conversation that the server belongs to, its figures, what its last compaction left out, and its
messages by number."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from ullage.jsonrpc.envelope import RESOURCE_NOT_FOUND, RpcError
from ullage.mcp.asked import Asked
from ullage.model.json_values import encode_json
from ullage.redaction.quoting import cut

SESSION_URI = "ullage://session"
FIGURES_URI = "ullage://session/figures"
BRIEF_URI = "ullage://session/brief"
MESSAGES_URI = "ullage://session/messages/"
_JSON, _TEXT = "application/json", "text/markdown"


class Resource(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `Resource`."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str


class ResourceTemplate(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `ResourceTemplate`. `uri_template` is one of RFC 6570."""

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str


class ResourceText(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `TextResourceContents`."""

    uri: str
    mime_type: str
    text: str


class ReadResourceParams(Struct, frozen=True, kw_only=True):
    """MCP's `ReadResourceRequest`. `meta` is what the client adds about the request."""

    uri: str
    meta: dict[str, Any] = field(default_factory=dict[str, Any], name="_meta")


RESOURCES = (
    Resource(
        uri=SESSION_URI,
        name="session",
        title="This conversation",
        description="How full the context of this conversation is, and how that is known.",
        mime_type=_TEXT,
    ),
    Resource(
        uri=FIGURES_URI,
        name="figures",
        title="Figures of this conversation",
        description="The same figures for programs: a UsageResult of `ullage schema methods`.",
        mime_type=_JSON,
    ),
    Resource(
        uri=BRIEF_URI,
        name="brief",
        title="What the last compaction left out",
        description="What the last compaction left out and the next steps may need, quoted.",
        mime_type=_TEXT,
    ),
)
TEMPLATES = (
    ResourceTemplate(
        uri_template=MESSAGES_URI + "{numbers}",
        name="messages",
        title="Messages of this conversation",
        description="The first page of a message (85) or of a stretch (80-90), quoted.",
        mime_type=_TEXT,
    ),
)


async def read_resource(uri: str, ask: Callable[[], Awaitable[Asked]]) -> ResourceText:
    """Returns a resource. `ask` returns the conversation. Raises `RpcError` (-32002) if there is no resource with this
    URI, and `UllageError` if it can't be read."""
    if uri == SESSION_URI:
        from ullage.mcp.context_figure import figure_text  # noqa: PLC0415

        return ResourceText(uri=uri, mime_type=_TEXT, text=await figure_text((await ask()).own))
    if uri == FIGURES_URI:
        from ullage.api.wire import usage_result  # noqa: PLC0415

        return ResourceText(uri=uri, mime_type=_JSON, text=encode_json(usage_result((await ask()).own)).decode())
    if uri == BRIEF_URI:
        from ullage.mcp.looking_up import brief_text  # noqa: PLC0415

        return ResourceText(uri=uri, mime_type=_TEXT, text=await brief_text((await ask()).own))
    if uri.startswith(MESSAGES_URI):
        from ullage.mcp.looking_up import open_text  # noqa: PLC0415

        numbers = unquote(uri.removeprefix(MESSAGES_URI))
        return ResourceText(uri=uri, mime_type=_TEXT, text=open_text(await ask(), f"#{numbers}", 1))
    raise RpcError(RESOURCE_NOT_FOUND, f"There is no resource {cut(uri, 80)!r}; resources/list names them.", "NotFound")
