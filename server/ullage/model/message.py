"""Messages and the tools a model is offered."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.blocks import Block, CompactionBlock, join_texts


class Role(StrEnum):
    """Who a message is from. Tool results are the user's, as in Anthropic's API."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown."""

    id: str
    role: Role
    content: tuple[Block, ...]
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The message's text blocks, joined by newlines."""
        return join_texts(self.content)

    @property
    def compaction(self) -> CompactionBlock | None:
        """The message's compaction block if the message is a marker, else None."""
        first = self.content[0] if self.content else None
        return first if isinstance(first, CompactionBlock) else None


class ToolDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool offered to the model; `input_schema` is JSON Schema."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
