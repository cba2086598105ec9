"""A provider's token counts of one request, what they cost by the list prices, and the figures derived from them, each
with how it is known: the window, the threshold at which the context is compacted, and what is left.

Every value of a figure comes with its source, and with one line for the user that names the evidence. At the end are
the rows in which every list shows the conversations that agents have on this machine.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace


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
        return sum(astuple(self))

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


class WindowSource(StrEnum):
    """How a window is known.

    `settings`: the user's settings name it. `agent`: the agent that has the conversation says so. `log`: the
    conversation itself proves it, by its agent's compactions or by a reported prompt. `rule`: the agent gives this
    window to its models unless its user chose another; this conversation does not say. `catalog`: the list of models.
    """

    SETTINGS = "settings"
    AGENT = "agent"
    LOG = "log"
    RULE = "rule"
    CATALOG = "catalog"


class ThresholdSource(StrEnum):
    """How it is known at how many tokens the context is compacted.

    `ours`: Ullage compacts there. `settings`: the settings of the agent or of the user say so.
    `learned`: the agent's own automatic compactions show it. `rule`: agents of this kind and version do so.
    """

    OURS = "ours"
    SETTINGS = "settings"
    LEARNED = "learned"
    RULE = "rule"


class Keeper(StrEnum):
    """Who keeps the context within its window.

    `ullage`: Ullage does. `agent`: the agent that has the conversation does; Ullage reads the conversation and compacts
    it only if the user asks. `nobody`: automatic management is off, or no window is known.
    """

    ULLAGE = "ullage"
    AGENT = "agent"
    NOBODY = "nobody"


class KnownWindow(Struct, frozen=True, kw_only=True):
    """The window in tokens and how it is known. `basis` is the evidence, one line for the user. `contradiction`
    describes evidence against this window, null if there is none."""

    size: int
    source: WindowSource
    basis: str
    contradiction: str | None = None


class KnownThreshold(Struct, frozen=True, kw_only=True):
    """The number of tokens at which the context is compacted, and how that is known.

    `percent` is `tokens` as a percentage of the window. `times` is the number of compactions that the threshold was
    learned from, 0 if it was not learned. `basis` is the evidence, one line for the user.
    """

    tokens: int
    percent: int
    source: ThresholdSource
    basis: str
    times: int = 0


class RemarkKind(StrEnum):
    """What a remark on the threshold says.

    `no_threshold`: the agent does not compact this model's context by itself. `changed`: the threshold differs from the
    one that earlier compactions show. `no_effect`: a setting of the agent asks for another threshold, and the
    conversation shows that the agent does not follow it. `passed`: the conversation has gone on beyond the threshold,
    so the real one is not known. `uncertain`: a setting of the agent is about compaction, and its effect is not known.
    `limit`: the conversation has passed a limit of the user's own.
    """

    NO_THRESHOLD = "no_threshold"
    CHANGED = "changed"
    NO_EFFECT = "no_effect"
    PASSED = "passed"
    UNCERTAIN = "uncertain"
    LIMIT = "limit"


class Remark(Struct, frozen=True, kw_only=True):
    """What the user should know about the threshold at which the agent compacts, about its absence, or about a limit.
    `text` is one sentence."""

    kind: RemarkKind
    text: str


class IdleCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the agent makes by itself at the time `at` (Unix milliseconds), if it still runs and the user
    types nothing until then. `setting` is the setting of the agent that stops it."""

    at: int
    setting: str


class CacheSource(StrEnum):
    """How it is known how long a provider keeps a prompt in its cache. `promised`: by the kind of entry that the last
    report says it wrote. `seen`: the longest pause in this conversation after which the prompt was still there."""

    PROMISED = "promised"
    SEEN = "seen"


class CacheMissCause(StrEnum):
    """Why a request found nothing in the cache of what the one before it had left.

    `idle`: the pause was too long. `compaction`: a summary replaced messages. `model`: another model answered.
    `messages`: earlier messages were changed or left out, and only what precedes them was still there. `prefix`: the
    system prompt, the tools or the settings changed, or the provider dropped the prompt early.
    """

    IDLE = "idle"
    COMPACTION = "compaction"
    MODEL = "model"
    MESSAGES = "messages"
    PREFIX = "prefix"


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request at the time `at` (Unix milliseconds) whose `tokens` had to be read anew, and why."""

    at: int
    cause: CacheMissCause
    tokens: int


class PromptCache(Struct, frozen=True, kw_only=True):
    """The provider's cache of a conversation's last prompt.

    It is kept until the time `until` (Unix milliseconds), `keeps` milliseconds after its last use; `source` says how
    that is known. `tokens` is what it holds of the context. The next request costs `warm` US dollars until then and
    `cold` after it, both without its answer and by list prices; null if the model has none. `miss` is the last request
    that found nothing, null if none did.
    """

    until: int
    keeps: int
    source: CacheSource
    tokens: int
    warm: float | None
    cold: float | None
    miss: CacheMiss | None = None


class GoodMoment(Struct, frozen=True, kw_only=True):
    """A piece of work has ended with the commit that has the subject `work`, and nothing is open: the next piece can
    begin in a new session. That begins with at most `tokens` tokens, and its first prompt costs `cost` US dollars by
    list prices, null if the model has none. `at` is the time of the last answer in Unix milliseconds, 0 if unknown: the
    same time is the same moment."""

    at: int
    work: str
    tokens: int
    cost: float | None


class RateLimit(Struct, frozen=True, kw_only=True):
    """How much of a limit of the user's subscription is used, as an agent says it to its status line or in its log:
    `percent` of what is allowed in a time called `name`, such as `5h` or `7d`. `until` is when that time ends, in Unix
    milliseconds, null if unknown."""

    name: str
    percent: int
    until: int | None = None


class CallsLeft(Struct, frozen=True, kw_only=True):
    """An estimate of the number of model calls until the context is compacted, if it grows as it did recently. `mean`
    is the tokens left until then divided by the mean growth per call. In at least four of five cases the number is from
    `low` to `high`."""

    low: int
    mean: int
    high: int


class Nearness(StrEnum):
    """How near the compaction of a context is, or the end of the window where nothing compacts it. `imminent`: so few
    calls are left that a user who wants to act must act now; `near`: it is worth a look; `far`: neither; `compacting`:
    its agent has said that it compacts it, and has written nothing since."""

    FAR = "far"
    NEAR = "near"
    IMMINENT = "imminent"
    COMPACTING = "compacting"


class Hidden(Struct, frozen=True, kw_only=True):
    """The tokens of the context that the conversation does not contain: the system prompt and the tools of its agent or
    client. `tokens` equals the breakdown's `overhead`. `name` is what users see this part called. `parts` name what is
    known to be in it and sum to `tokens`; empty if nothing is."""

    tokens: int
    name: str
    parts: tuple[HiddenPart, ...] = ()


R = TypeVar("R", bound="FollowedRow")


class FollowedRow(Struct, frozen=True, kw_only=True):
    """A conversation that an agent has, and how full its context is. Sizes are tokens, times are Unix milliseconds; a
    value that is not known is null, and a text that is not known is empty.

    - `session_id`: its session in Ullage's store. `agent_session_id`: the agent's own id of it.
    - `agent`: the agent's name. `agent_short`: its name in a few characters, for a status bar. `path`: the agent's
      file. `cwd`: the folder in which the conversation began.
    - `parent`: for a sub-agent's conversation, the agent's own id of the one that started it: the `agent_session_id` of
      another row. Empty for any other.
    - `live`: whether the conversation continues. Its agent runs; or, if the agent doesn't say which process has which
      conversation, something was written less than 15 minutes ago.
    - `process_id`: the agent's process, if the agent says which it is.
    - `used`, `window`, `compacts_at`: the size of the context, and where it ends and is compacted; each with its
      source. `percent`: the used share of the window.
    - `calls_left`: the fewest and the most calls of the model until `compacts_at`, in four of five cases.
    - `idle`: a compaction that the agent makes because the conversation idles; null if it makes none.
    - `cache`: how long the provider keeps the last prompt, and what the next one costs; null if that is not known.
    - `moment`: that now is a good moment to go on in a new session; null if it is not.
    - `rate_limits`: what the agent said last of the limits of the user's subscription.
    - `nearness`: how near `compacts_at` is, or the end of the window if nothing compacts the context; null if
      that is not known, and once the conversation has ended.
    - `warnings`: what the user should know of the window and the threshold, one sentence each.
    - `forks`: the agent's own ids of conversations with the same beginning that have no row of their own: forks, and
      runs that were resumed in another file.
    - `updated_at`: the time of the last message or report.
    - `compact_command`: what a user types in the agent to compact the conversation. `takes_focus`: whether the agent
      takes what the summary must keep after it.
    """

    session_id: str
    agent: str
    agent_short: str = ""
    agent_session_id: str = ""
    title: str = ""
    cwd: str = ""
    path: str = ""
    parent: str = ""
    model: str = ""
    live: bool = False
    process_id: int | None = None
    used: int | None = None
    used_source: UsageSource | None = None
    percent: int | None = None
    window: int | None = None
    window_source: WindowSource | None = None
    compacts_at: int | None = None
    compacts_at_source: ThresholdSource | None = None
    calls_left: tuple[int, int] | None = None
    idle: IdleCompaction | None = None
    cache: PromptCache | None = None
    moment: GoodMoment | None = None
    rate_limits: tuple[RateLimit, ...] = ()
    nearness: Nearness | None = None
    messages: int | None = None
    warnings: tuple[str, ...] = ()
    forks: tuple[str, ...] = ()
    updated_at: int = 0
    compact_command: str = ""
    takes_focus: bool = False


def one_each(rows: Iterable[R]) -> list[R]:
    """Returns the rows without those of sub-agents whose parent is among them, and without those that another one names
    as its forks."""
    rows = list(rows)
    known = {(row.agent, row.agent_session_id) for row in rows}
    forks = {(row.agent, fork) for row in rows for fork in row.forks}
    return [
        row
        for row in rows
        if not (row.parent and (row.agent, row.parent) in known) and (row.agent, row.agent_session_id) not in forks
    ]


class LiveSessions(Struct, frozen=True, kw_only=True):
    """The live file: what is followed on this machine, last changed first. Ullage's store has a name; this file has the
    same name with `.live.json` after it.

    `at` is the time at which the file was written, in Unix milliseconds, and `follower` the process that wrote it. If
    that process no longer runs, the file is not kept up to date. `desktop` says that it tells the user what is due by
    notifications of the operating system: an editor says only that a compaction is near. Programs may read the file; a
    new field may be added at any time, and `version` changes if one is removed or changed.
    """

    version: Literal[1] = 1
    at: int
    follower: int
    desktop: bool = False
    sessions: tuple[FollowedRow, ...]
