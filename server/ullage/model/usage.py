"""A provider's token counts of one request, and the figures derived from them."""

from enum import StrEnum

from msgspec import Struct


class Usage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes the tokens
    read from or written to the cache. `reasoning_tokens` are part of `output_tokens`, and
    `cache_creation_1h_input_tokens`, which stay in the cache for an hour and cost more, are part of
    `cache_creation_input_tokens`. `ullage.formats.provider_usage` converts the other providers' shapes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    reasoning_tokens: int = 0
    cache_creation_1h_input_tokens: int = 0

    @property
    def prompt(self) -> int:
        """The tokens of the whole prompt: uncached, read from the cache, and written to it."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens

    @property
    def total(self) -> int:
        """The tokens in the context after the answer: prompt and output."""
        return self.prompt + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens + other.cache_read_input_tokens,
            cache_creation_input_tokens=self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cache_creation_1h_input_tokens=self.cache_creation_1h_input_tokens + other.cache_creation_1h_input_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens - other.cache_read_input_tokens,
            cache_creation_input_tokens=self.cache_creation_input_tokens - other.cache_creation_input_tokens,
            reasoning_tokens=self.reasoning_tokens - other.reasoning_tokens,
            cache_creation_1h_input_tokens=self.cache_creation_1h_input_tokens - other.cache_creation_1h_input_tokens,
        )


class Pass(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One of several passes in which an answer was made, as it is paid for. `model` is empty for the answer's own."""

    usage: Usage
    model: str = ""


class UsageSource(StrEnum):
    """How the figure `used` is known.

    `reported`: the provider's last report covers the whole context. `stale`: messages were appended after that report,
    and Ullage counted them. `estimated`: Ullage counted the whole context, because there is no report yet or an edit
    followed the last one.
    """

    REPORTED = "reported"
    ESTIMATED = "estimated"
    STALE = "stale"


class Breakdown(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens of the context, or of one message, by kind. The parts of a context sum to `used`. `overhead` is the part
    that a provider reported beyond what the session contains, such as an agent's own system prompt and tools."""

    system_prompt: int = 0
    tools: int = 0
    memory: int = 0
    messages: int = 0
    tool_results: int = 0
    summary: int = 0
    overhead: int = 0

    @property
    def total(self) -> int:
        """The sum of the parts, in tokens."""
        return (
            self.system_prompt
            + self.tools
            + self.memory
            + self.messages
            + self.tool_results
            + self.summary
            + self.overhead
        )

    def __add__(self, other: "Breakdown") -> "Breakdown":
        return Breakdown(
            system_prompt=self.system_prompt + other.system_prompt,
            tools=self.tools + other.tools,
            memory=self.memory + other.memory,
            messages=self.messages + other.messages,
            tool_results=self.tool_results + other.tool_results,
            summary=self.summary + other.summary,
            overhead=self.overhead + other.overhead,
        )


class BudgetShares(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a window is shared out, in tokens. `system_prompt` and `tools` are the tokens that they take (an agent's
    hidden prompt counts with the system prompt), `reserve` is kept for the answer, and `conversation` may take the
    rest. The four sum to the window, unless system prompt and tools exceed it; then `conversation` is 0.

    `available` is the part of the conversation's share that is free; `overflow` is the number of tokens by which the
    context exceeds usable.
    """

    system_prompt: int
    tools: int
    conversation: int
    reserve: int
    available: int
    overflow: int


class MessageCount(Struct, frozen=True, kw_only=True, gc=False):
    """One message's tokens by kind (`parts`). `counter` is the name of the counter that counted them."""

    counter: str
    parts: Breakdown
