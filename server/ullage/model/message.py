"""Messages, the tools a model is offered, and the files in which projects and users give agents standing instructions.

Those files are brought back after a compaction, quoted by summaries, and counted as memory.
"""

import re
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.blocks import Block, CompactionBlock, Provided, ToolResultBlock, join_texts


class Role(StrEnum):
    """Who a message is from. Tool results are the user's, as in Anthropic's API."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One message of a transcript. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown.
    `provided` is the message as a program gave it in a provider's format."""

    id: str
    role: Role
    content: tuple[Block, ...]
    timestamp: int = 0
    provided: Provided | None = None

    @property
    def text(self) -> str:
        """The texts of the message's text blocks, joined by newlines. Other blocks are left out."""
        return join_texts(self.content)

    @property
    def speaker(self) -> str:
        """Who the message is from, as users read it: `tool` if it has only results of tools, else its role."""
        is_tool = bool(self.content) and all(isinstance(block, ToolResultBlock) for block in self.content)
        return "tool" if is_tool else self.role.value

    @property
    def compaction(self) -> CompactionBlock | None:
        """The message's compaction block if the message is a marker, else None."""
        first = self.content[0] if self.content else None
        return first if isinstance(first, CompactionBlock) else None


class ToolDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool offered to the model; `input_schema` is JSON Schema. `provided` is the tool as a program gave it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    provided: Provided | None = None

    @property
    def nested(self) -> list[dict[str, Any]]:
        """The objects of any depth in it."""
        return [self.input_schema, *([self.provided.fields] if self.provided else [])]


def number_of(index: int) -> int:
    """Returns the number of the message at `index` of the transcript: `index + 1`, because users count from 1.

    Every text for users and models (`#85` in summaries, lists and searches) has this number. Protocols have the index.
    """
    return index + 1


def index_of(number: int) -> int:
    """Returns the index in the transcript of the message with the user's `number`: `number - 1`, the inverse of
    `number_of`."""
    return number - 1


# As each agent's documents name them, relative to the project's folder; several agents read the first.
INSTRUCTION_FILES = (
    *("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "GEMINI.md", ".cursorrules"),
    *("QWEN.md", "CRUSH.md", "CONVENTIONS.md", ".goosehints", ".windsurfrules", ".clinerules", ".roorules"),
    *("CLAUDE.local.md", "GEMINI.local.md", "AGENTS.local.md", "AGENTS.override.md"),
)
_NAMES = frozenset(path.rsplit("/", 1)[-1] for path in INSTRUCTION_FILES)
# What agents and the memory tool write for themselves.
_MEMORY = re.compile(r"(?:^|/)(?:MEMORY(?:\.local)?\.md$|memories/)")


def is_instruction_file(path: str) -> bool:
    """Returns whether the last name of a path or URI is that of a file of standing instructions, such as `AGENTS.md`.
    The folder does not matter."""
    return re.split(r"[/\\]", path)[-1] in _NAMES


def is_memory_file(path: str) -> bool:
    """Returns whether a path or URI names a file of standing instructions (`AGENTS.md`), a `MEMORY.md`, or a file in a
    folder `memories`."""
    return is_instruction_file(path) or _MEMORY.search(path) is not None
