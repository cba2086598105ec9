"""A model's answer: what is asked, and the fragments that come back, whatever the provider.

Text, thinking and tool calls come in pieces, in the order the model writes them; `usage` may come more than once, each
account replacing the last; `Finished` comes once, at the end of an answer that is whole.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.blocks import ToolResultBlock
from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Usage


class ToolUseClearing(Struct, frozen=True, kw_only=True):
    """Which tool uses a provider may clear itself before the model reads a request, in the terms of Anthropic's
    `clear_tool_uses_20250919`: once the prompt has more than `trigger` tokens, all but the last `keep`, if that saves
    `clear_at_least` tokens."""

    trigger: int
    keep: int
    clear_at_least: int = 0
    exclude_tools: tuple[str, ...] = ()
    clear_tool_inputs: bool = False


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request: a view of the transcript, the tools offered with it, and the most tokens of the answer.

    `tools_refused` leaves the tools in the request, so that the provider's cache still knows its beginning, and
    forbids their use. `instructions`, if any, is a last user message that is not part of the transcript.

    Only a provider that can is asked for `clearing`, and, by `compacts`, for its own compaction of the messages: as an
    answer in text, made by the instructions, or sealed.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int
    tools_refused: bool = False
    instructions: str = ""
    clearing: ToolUseClearing | None = None
    compacts: bool = False


class StopReason(StrEnum):
    """Why an answer ended. After `tool_use` the turn goes on."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


class TurnEnd(StrEnum):
    """Why a prompt turn ended: ACP's closed set of stop reasons."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    MAX_TURN_REQUESTS = "max_turn_requests"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"


class TextDelta(Struct, frozen=True, kw_only=True, tag=True):
    """A piece of the text."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True, tag=True):
    """A piece of the reasoning. `signature` and `redacted` come whole, at the end of a thinking block, and must go
    back to the provider unchanged."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None


class ToolUseStart(Struct, frozen=True, kw_only=True, tag=True):
    """A tool call begins; its input is still being written."""

    id: str
    name: str


class ToolInputDelta(Struct, frozen=True, kw_only=True, tag=True):
    """A piece of a tool call's input as it is written, for showing; not parsed."""

    id: str
    text: str


class ToolUseEnd(Struct, frozen=True, kw_only=True, tag=True):
    """A tool call is whole. An input that could not be read leaves `input` empty and says why in `error`."""

    id: str
    name: str
    input: dict[str, Any]
    error: str = ""


class ToolUseResult(Struct, frozen=True, kw_only=True, tag=True):
    """What a tool call returned, told by the provider itself, after the call's `ToolUseEnd`: a recording has its own.
    The call is not made again."""

    result: ToolResultBlock


class UsageDelta(Struct, frozen=True, kw_only=True, tag=True):
    """The provider's account so far; `reasoning_tokens` are part of `usage.output_tokens`."""

    usage: Usage
    reasoning_tokens: int = 0


class ToolUsesCleared(Struct, frozen=True, kw_only=True, tag=True):
    """The provider itself cleared so many of the oldest tool uses before the model read the request."""

    cleared_tool_uses: int


class CompactionSealed(Struct, frozen=True, kw_only=True, tag=True):
    """The provider's own compaction, which nobody else can read."""

    data: str


class Finished(Struct, frozen=True, kw_only=True, tag=True):
    """The answer is whole."""

    stop_reason: StopReason


Fragment = (
    TextDelta
    | ThinkingDelta
    | ToolUseStart
    | ToolInputDelta
    | ToolUseEnd
    | ToolUseResult
    | UsageDelta
    | ToolUsesCleared
    | CompactionSealed
    | Finished
)
