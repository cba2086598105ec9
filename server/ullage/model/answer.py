"""A request to a model and the fragments of its answer, the same for every provider; and the models that a client
offers to the server.

Text, thinking and tool calls come in pieces, in the order in which the model writes them. `UsageDelta` may come more
than once; each replaces the one before. `Finished` comes once, at the end of a complete answer.

A client may offer models, such as those of the user's editor. The server has no key for them: it asks the client, and
the client asks the model. A session names such a model by `editor/`, then the client's own name of it.
"""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

from ullage.model.message import Message, Role, TextBlock, ToolDefinition, ToolResultBlock
from ullage.model.usage import Usage


class ToolUseClearing(Struct, frozen=True, kw_only=True):
    """Asks a provider to clear old tool uses itself before the model reads the request. Field names and meanings are
    those of Anthropic's `clear_tool_uses_20250919`: once the prompt exceeds `trigger` tokens, all but the last `keep`
    tool uses are cleared, if that saves `clear_at_least` tokens. Uses of `exclude_tools` stay; `clear_tool_inputs`
    clears inputs, too."""

    trigger: int
    keep: int
    clear_at_least: int = 0
    exclude_tools: tuple[str, ...] = ()
    clear_tool_inputs: bool = False


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request: a view of the transcript, the tools offered with it, and the most tokens that the answer may take.

    `tools_refused` forbids the use of tools but leaves them in the request, so that the provider's cache still matches
    its beginning. `instructions`, if any, become a last user message that is not part of the transcript;
    they ask for a summary. `reminder` becomes one, too, for as long as a session's mode asks for it.

    `clearing` and `compacts` are only set for providers that support them. `compacts` asks for the provider's own
    compaction of the messages: a text written by the instructions, or data that only the provider can read.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int
    tools_refused: bool = False
    instructions: str = ""
    reminder: str = ""
    clearing: ToolUseClearing | None = None
    compacts: bool = False


class StopReason(StrEnum):
    """Why an answer ended. After `tool_use` the prompt turn continues."""

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
    """A chunk of the answer's text, in the order in which the model writes the text."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True, tag=True):
    """A chunk of the model's reasoning. `signature` and `redacted` come whole, at the end of a thinking block, and must
    be sent back to the provider unchanged with later requests."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None


class ToolUseStart(Struct, frozen=True, kw_only=True, tag=True):
    """A tool call begins; its input is still being written."""

    id: str
    name: str


class ToolInputDelta(Struct, frozen=True, kw_only=True, tag=True):
    """A chunk of a tool call's input while the model writes it. It is only displayed; `ToolUseEnd` has the parsed
    input."""

    id: str
    text: str


class ToolUseEnd(Struct, frozen=True, kw_only=True, tag=True):
    """A tool call is complete. If its input could not be parsed, `input` is empty and `error` holds the reason."""

    id: str
    name: str
    input: dict[str, Any]
    error: str = ""


class ToolUseResult(Struct, frozen=True, kw_only=True, tag=True):
    """The result of a tool call, if the provider itself supplies it, as one that replays a recording does. It comes
    after the call's `ToolUseEnd`, and Ullage does not run the tool."""

    result: ToolResultBlock


class UsageDelta(Struct, frozen=True, kw_only=True, tag=True):
    """The provider's token counts of this request so far. A later one replaces it. `reasoning_tokens` are part of
    `usage.output_tokens`."""

    usage: Usage
    reasoning_tokens: int = 0


class ToolUsesCleared(Struct, frozen=True, kw_only=True, tag=True):
    """The provider itself cleared this number of the oldest tool uses before the model read the request."""

    cleared_tool_uses: int


class CompactionSealed(Struct, frozen=True, kw_only=True, tag=True):
    """The provider's own compaction of the messages of a request with `compacts`. `data` is encrypted text that only
    this provider can read."""

    data: str


class Finished(Struct, frozen=True, kw_only=True, tag=True):
    """The last fragment of a complete answer, with the reason why the answer ended. An answer that was cut off has no
    such fragment."""

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


def ask_messages(request: ModelRequest) -> tuple[Message, ...]:
    """Returns the messages of a request. Instructions, if there are any, are added as a user's message at the end, so
    that the beginning, which the provider caches, stays unchanged."""
    text = request.instructions or request.reminder
    if not text:
        return request.messages
    asked = Message(id="instructions", role=Role.USER, content=(TextBlock(text=text),))
    return (*request.messages, asked)


# Before the client's own name of a model, so that it can't be mistaken for a model that a provider with a key serves.
EDITOR = "editor/"


class OfferedModel(Struct, frozen=True, kw_only=True, rename="camel"):
    """A model that the client offers. `id` is the client's own name of it, without `editor/`, and `name` what users
    read. `maxInputTokens` is the longest prompt that it takes."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    name: str
    max_input_tokens: Annotated[int, Meta(ge=1)]


class SpokenRole(StrEnum):
    """Who said a message of a request to an offered model."""

    USER = "user"
    ASSISTANT = "assistant"


class SpokenMessage(Struct, frozen=True, kw_only=True):
    """A message of a request to an offered model. Calls of tools and their results are written as text."""

    role: SpokenRole
    text: str


class Purpose(StrEnum):
    """What an offered model is asked for: the next answer of a chat, or the summary of a compaction."""

    ANSWER = "answer"
    SUMMARY = "summary"


class CompleteParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Asks one of the client's models. `model` is the `id` of an offered model. The client sends the answer while it is
    written, in `models/piece` with the same `requestId`, and then answers this request."""

    request_id: str
    model: str
    purpose: Purpose
    messages: tuple[SpokenMessage, ...]


class CompletionFault(StrEnum):
    """Why a client's model gave no whole answer. `no_permission`: the user has not allowed it. `blocked`: the model's
    vendor takes no more requests for now, or none with this content. `not_found`: there is no such model any more.
    `too_long`: the prompt is over the model's limit. `failed`: anything else."""

    NO_PERMISSION = "no_permission"
    BLOCKED = "blocked"
    NOT_FOUND = "not_found"
    TOO_LONG = "too_long"
    FAILED = "failed"


class CompleteResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of an answer. `pieces` is how many `models/piece` the client has sent for it. `fault` is null if the
    answer is whole; else `reason` is what the client knows of it."""

    pieces: int
    fault: CompletionFault | None = None
    reason: str = ""


class CountParams(Struct, frozen=True, kw_only=True):
    """Asks how many tokens a prompt is for one of the client's models. `model` is the `id` of an offered model."""

    model: str
    messages: tuple[SpokenMessage, ...]


class CountResult(Struct, frozen=True, kw_only=True):
    """The tokens of a prompt by the model's own count, null if it can't count."""

    tokens: Annotated[int, Meta(ge=0)] | None


class ModelPiece(Struct, frozen=True, kw_only=True, rename="camel"):
    """The next piece of an answer, in the order in which the model writes it."""

    request_id: str
    text: str


class OfferedModels(Struct, frozen=True, kw_only=True):
    """The models that the client offers from now on, all of them. `editor` is the client's name as its users know
    it."""

    editor: str
    models: tuple[OfferedModel, ...]
