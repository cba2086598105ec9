"""Content blocks: the parts of a message, in the shape of Anthropic's Messages API.

Anthropic's shape is the richest (it has thinking, and errors in tool results), so the shapes of other providers convert
into it without loss; `ullage.formats` converts back. Field names are those of the wire format, hence snake_case.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ullage.model.artifacts import ArtifactLedger


class TextBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="text", omit_defaults=True):
    """Plain text."""

    text: str


class ImageBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="image", omit_defaults=True):
    """A picture: base64 `data` or a `url`. `width` and `height` are in pixels, if the sender knows them."""

    media_type: str = "image/png"
    data: str | None = None
    url: str | None = None
    width: int | None = None
    height: int | None = None


class ThinkingBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking", omit_defaults=True):
    """A model's reasoning. `signature` must go back to the provider unchanged. `redacted` holds encrypted reasoning
    without readable text."""

    thinking: str
    signature: str | None = None
    redacted: str | None = None


class ToolUseBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_use", omit_defaults=True):
    """A model's call of the tool `name`. The result carries the same `id`."""

    id: str
    name: str
    input: dict[str, Any]


class ResourceBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="resource", omit_defaults=True):
    """A file or other resource that was added to the conversation. Without `text` it is only a link."""

    uri: str
    text: str | None = None
    mime_type: str | None = None


ResultPart = TextBlock | ImageBlock | ResourceBlock


class ToolResultBlock(Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_result", omit_defaults=True):
    """The result of the tool call `tool_use_id`."""

    tool_use_id: str
    content: tuple[ResultPart, ...] = ()
    is_error: bool = False


class BroughtBack(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the project that a compaction names. `text` is its content at that time, if it was read."""

    path: str
    text: str = ""


class SealedCompaction(Struct, frozen=True, kw_only=True):
    """A provider's own compaction of the archived messages, as `data` that only this provider can read. `provider`
    is its name in the settings; `tokens` is its size in a prompt."""

    provider: str
    data: str
    tokens: int


class CompactionBlock(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="context_compaction", omit_defaults=True
):
    """The marker in the place of messages that were compacted.

    `timestamp` is Unix milliseconds; `context_size_before` and `context_size_after` are tokens of the whole context.
    `kept` names the messages of the archived range that stay verbatim. The model is sent `summary`, the rendered
    `ledger` and the project files in `brought_back`; users see all fields. If a provider made a compaction of its own
    (`sealed`), that provider is sent it instead.
    """

    compaction_number: int
    timestamp: int
    summary: str
    messages_archived: int
    context_size_before: int
    context_size_after: int = 0
    kept: tuple[str, ...] = ()
    ledger: ArtifactLedger = ArtifactLedger()
    summarizer: str = "offline"
    brought_back: tuple[BroughtBack, ...] = ()
    sealed: SealedCompaction | None = None


Block = TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ResourceBlock | CompactionBlock


def join_texts(blocks: Iterable[Block]) -> str:
    """The texts of the text blocks, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def text_and_resources(blocks: Iterable[Block]) -> str:
    """The texts of the text blocks and of the resources that hold a text, joined by newlines."""
    return "\n".join(block.text or "" for block in blocks if isinstance(block, TextBlock | ResourceBlock))
