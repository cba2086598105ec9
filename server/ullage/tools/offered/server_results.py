"""What an MCP server returns for a tool call, as a result that the model reads."""

from collections.abc import Iterable, Iterator

from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from ullage.model.blocks import ImageBlock
from ullage.model.json_values import encode_json
from ullage.service.ports.models import ToolOutcome

# About 25,000 tokens, as for a file that is read.
_MOST_CHARS = 100_000
# As many pictures as one result may bring; each takes some 1,500 tokens.
_MOST_IMAGES = 10


def read_result(result: CallToolResult) -> ToolOutcome:
    """Returns the texts and pictures of a result. Structured content is added as JSON if there is no text. A long text
    is cut, and says so."""
    text = "\n".join(_texts(result.content))
    if not text and result.structured_content is not None:
        text = encode_json(result.structured_content).decode()
    images = tuple(_images(result.content))[:_MOST_IMAGES]
    return ToolOutcome(text=_cut(text) or ("" if images else "[no output]"), is_error=result.is_error, images=images)


def _texts(content: Iterable[ContentBlock]) -> Iterator[str]:
    for block in content:
        match block:
            case TextContent(text=text):
                yield text
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                yield f"[Resource {uri}]\n{text}"
            case EmbeddedResource(resource=resource):
                yield f"[Resource {resource.uri}, not shown]"
            case ResourceLink(uri=uri, name=name):
                yield f"[Resource {uri} ({name})]"
            case AudioContent(mime_type=kind):
                yield f"[Audio, {kind}, not shown]"
            case ImageContent():
                pass


def _images(content: Iterable[ContentBlock]) -> Iterator[ImageBlock]:
    for block in content:
        if isinstance(block, ImageContent):
            yield ImageBlock(media_type=block.mime_type, data=block.data)


def _cut(text: str) -> str:
    left = len(text) - _MOST_CHARS
    return text if left <= 0 else f"{text[:_MOST_CHARS]}\n[{left:,} more characters are left out]"
