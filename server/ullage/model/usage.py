"""A provider's token counts of one request, the figures derived from them, and what they cost by the list prices."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class Usage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes the tokens
    read from or written to the cache. `reasoning_tokens` are part of `output_tokens`, and
    `cache_creation_1h_input_tokens`, which stay in the cache for an hour and cost more, are part of
    `cache_creation_input_tokens`. `ullage.formats.parsing` converts the other providers' shapes."""

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


class HiddenKind(StrEnum):
    """What an agent adds to each request before the conversation. `memory` are files with instructions, such as
    `CLAUDE.md`, `mcp` are the tools of one MCP server, `history` are earlier messages that the log lacks, whose size it
    does not say, and `unknown` is what else the log does not contain."""

    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    MCP = "mcp"
    MEMORY = "memory"
    SKILLS = "skills"
    HISTORY = "history"
    UNKNOWN = "unknown"


class HiddenPart(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens that an agent adds to each request. `name` is the path of a file or the name of an MCP server; of what the
    log does not contain, the names of the MCP servers in the agent's settings, whose tools are in it; empty for other
    kinds. `estimated` is false if the agent itself says the number."""

    kind: HiddenKind
    tokens: int
    name: str = ""
    estimated: bool = True


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


_MILLION = 1_000_000
# Anthropic's prices of cache writes are shares of the price of input: 1.25 for five minutes, which the lists give, and
# 2 for an hour (docs, "Prompt caching").
_HOUR = 2.0
CURRENCY = "USD"


class PriceTier(Struct, frozen=True, array_like=True):
    """The prices in US dollars for a million tokens of each kind, for a request whose prompt has more than `above`
    tokens and at most the `above` of the next tier."""

    above: int
    input: float
    cache_read: float
    cache_write: float
    output: float


class Price(Struct, frozen=True):
    """A model's list prices. The tiers are sorted by prompt size, the smallest first."""

    tiers: tuple[PriceTier, ...]

    def cost(self, usage: Usage) -> float:
        """Returns the cost of one request in US dollars. The size of its prompt, cached tokens included, chooses the
        tier."""
        tier = max((tier for tier in self.tiers if tier.above < max(1, usage.prompt)), key=lambda tier: tier.above)
        return (
            usage.input_tokens * tier.input
            + usage.cache_read_input_tokens * tier.cache_read
            + (usage.cache_creation_input_tokens - usage.cache_creation_1h_input_tokens) * tier.cache_write
            + usage.cache_creation_1h_input_tokens * tier.input * _HOUR
            + usage.output_tokens * tier.output
        ) / _MILLION


class Bill(Struct, frozen=True, kw_only=True):
    """The cost of a session's requests so far, in US dollars. `amount` is None once the price of a request is unknown.
    `answer_id` and `last` are the id and the cost of the last answer, because its usage may be reported again."""

    amount: float | None = 0.0
    answer_id: str = ""
    last: float = 0.0

    def charge(self, answer_id: str, cost: float | None) -> "Bill":
        """Returns the bill after a usage report of the answer `answer_id`, whose request cost `cost` US dollars. A
        second report of the last answer replaces the first. If `cost` is None (no known price), the amount is unknown
        from then on."""
        if self.amount is None or cost is None:
            return Bill(amount=None, answer_id=answer_id)
        known = self.amount - self.last if answer_id == self.answer_id else self.amount
        return Bill(amount=known + cost, answer_id=answer_id, last=cost)

    def add(self, cost: float | None) -> "Bill":
        """Returns the bill after one more request that cost `cost` US dollars and added no answer to the transcript,
        such as one for a summary. If `cost` is None, the amount is unknown from then on."""
        if self.amount is None or cost is None:
            return replace(self, amount=None)
        return replace(self, amount=self.amount + cost)
