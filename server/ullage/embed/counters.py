"""Counts for a program that manages a context itself: token counters for its texts and messages, a model's limits, how
the tokens of its window are divided, and a tracker of how full the context is.

All are built on the engine's own (`ullage.tokens`, `ullage.known_models`, `ullage.policy`).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, Self, cast, runtime_checkable

from msgspec import Struct

from ullage import known_models
from ullage.embed.messages import MessageList, checked, choice, plain, valued
from ullage.formats.parsing import read_usage
from ullage.formats.provider import read_definitions
from ullage.formats.verbatim import show
from ullage.known_models import LimitsSource
from ullage.model.errors import InvalidRequest, WindowUnknown
from ullage.model.message import Message, ToolDefinition
from ullage.model.settings import ContextSettings, ModelSettings, Tokens
from ullage.model.usage import BudgetShares, UsageSource
from ullage.policy import budget as policy
from ullage.tokens import counter as engine_counters
from ullage.tokens import tracker
from ullage.tokens.counter import MessageCounter
from ullage.tokens.counter import TokenCounter as EngineCounter
from ullage.tokens.families import UNKNOWN, Family, bare_name, family_of
from ullage.tokens.vocabulary import load_encoding


class Encoding(StrEnum):
    """The vocabularies in the wheel, and the way of counting without one."""

    CL100K_BASE = "cl100k_base"
    O200K_BASE = "o200k_base"
    APPROXIMATE = "approximate"


# The encoding of OpenAI's models since GPT-4o.
_DEFAULT_MODEL = "gpt-4o"


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text. Any object with this one method is accepted as a counter.

    Messages are counted by it, too: their texts, plus the tokens that a provider adds per message for an unknown model.
    """

    def count(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        ...


class BaseCounter:
    """Counts texts, messages and tool definitions by `engine`, a counter of `ullage.tokens`."""

    def __init__(self, engine: EngineCounter) -> None:
        self.engine = engine

    @property
    def name(self) -> str:
        """The name of the way of counting, as shown to users: `o200k_base`, `cl100k_base` or `approximate`."""
        return self.engine.name

    @property
    def error_share(self) -> float:
        """The mean error as a share of the true count: 0.14 means 14 per cent, 0.0 that counts are exact."""
        return self.engine.error_share

    def count(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        return self.engine.count(text)

    def count_message(self, message: Mapping[str, Any] | Message) -> int:
        """Returns the tokens that a message adds to a prompt. Raises `InvalidRequest` if it is no message."""
        return self.count_messages([message])

    def count_messages(self, messages: Sequence[Mapping[str, Any] | Message]) -> int:
        """Returns the sum over the messages; `count_prompt` counts a request. Raises `InvalidRequest`."""
        return self.engine.count_messages(MessageList(messages).messages)

    def count_prompt(
        self, messages: Sequence[Mapping[str, Any] | Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Returns the tokens of a request, as the provider reports them: those of its messages and tools, and for
        OpenAI's models three for the opening of the answer. Raises `InvalidRequest` if one of `messages` is not a
        message."""
        return self.engine.count_prompt(MessageList(messages).messages, _definitions(tools))

    def count_tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """Returns the tokens that definitions of tools, in OpenAI's or Anthropic's shape, add to a prompt."""
        return self.engine.count_tools(_definitions(tools))


@checked
class TiktokenCounter(BaseCounter):
    """Counts with the vocabulary of a model's tokenizer: exactly for OpenAI's models, scaled by measured ratios for
    others. Without `model`, counts as for `gpt-4o`. `encoding_name` replaces the model's vocabulary.

    Raises `OSError`, `lzma.LZMAError` or `ImportError` if the vocabulary can't be loaded. `get_counter` then returns an
    `ApproximateCounter` instead.
    """

    def __init__(self, model: str | None = None, encoding_name: str | None = None) -> None:
        family = family_of(bare_name(model or _DEFAULT_MODEL))
        family = family.counted_with(choice("encoding", Encoding, encoding_name)) if encoding_name else family
        super().__init__(engine_counters.TiktokenCounter(family))
        self._encoding = load_encoding(family.encoding)

    @property
    def encoding_name(self) -> str:
        """The name of the vocabulary: `o200k_base` or `cl100k_base`."""
        return self._encoding.name

    def encode(self, text: str) -> list[int]:
        """Returns the numbers of the text's tokens. Special tokens in it are encoded as ordinary text."""
        return self._encoding.encode_ordinary(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Returns the text of a list of tokens. Bytes that are not a whole character become U+FFFD."""
        return self._encoding.decode(list(tokens))


@checked
class ApproximateCounter(BaseCounter):
    """Counts without a vocabulary: `tokens_per_word` tokens per word, but at least one token per four bytes. The mean
    error is 14 per cent."""

    def __init__(self, tokens_per_word: float = engine_counters.TOKENS_PER_WORD, *, model: str = "") -> None:
        family = family_of(bare_name(model)) if model else UNKNOWN
        super().__init__(engine_counters.ApproximateCounter(family, tokens_per_word))
        self.tokens_per_word = tokens_per_word


@valued
def get_counter(model: str, encoding: str | None = None) -> TiktokenCounter | ApproximateCounter:
    """Returns the best counter for a model, whose name may be spelled as any provider spells it.

    `encoding` (`cl100k_base`, `o200k_base` or `approximate`) replaces the model's own. If the vocabulary can't be
    loaded, returns an `ApproximateCounter` and logs one warning.
    """
    if encoding is not None:
        choice("encoding", Encoding, encoding)
    if engine_counters.get_counter(model, encoding).name == "approximate":
        return ApproximateCounter(model=model)
    return TiktokenCounter(model, encoding)


def engine_counter(counter: TokenCounter | EngineCounter) -> EngineCounter:
    """Returns the engine's counter (`ullage.tokens`) for `counter`: the one inside a counter of this module, `counter`
    itself if it is one of the engine's, or a new one that counts by any other object with a method `count`."""
    engine = getattr(counter, "engine", None)
    if engine is not None:
        return engine
    if not callable(getattr(counter, "count", None)):
        raise InvalidRequest(f"{show(counter)} is no counter; give an object with a method count(text)")
    return cast("EngineCounter", counter) if isinstance(counter, MessageCounter) else _OwnCounter(counter)


def _definitions(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    return read_definitions(None, tools)


class _OwnCounter(MessageCounter):
    name = "own"
    error_share = 0.0

    def __init__(self, counter: TokenCounter, family: Family = UNKNOWN) -> None:
        super().__init__(family)
        self._counter = counter

    def count(self, text: str) -> int:
        return self._counter.count(text)


_RESERVED = 1_000


class ContextLimits(Struct, frozen=True):
    """A model's limits in tokens.

    - `max_tokens`: the longest prompt.
    - `max_output_tokens`: the longest answer, or None if unknown.
    - `reserved_tokens`: the reserve, which is kept free for the answer.
    - `source`: where the limits come from.
    """

    model: str
    max_tokens: int
    max_output_tokens: int | None = None
    reserved_tokens: int = _RESERVED
    source: LimitsSource = LimitsSource.OVERRIDE

    @classmethod
    @valued
    def for_model(cls, model: str, *, window: Tokens | None = None, max_output: Tokens | None = None) -> Self:
        """Returns the limits of a model, whose name may be spelled as any provider spells it. `window` and
        `max_output`, in tokens, replace the catalog's figures.

        The reserve is min(max output, 20,000, window / 4). Raises `WindowUnknown` if the catalog doesn't know the model
        and `window` is None: no window is guessed.
        """
        given = ModelSettings(window=window, max_output=max_output)
        known = known_models.ContextLimits.for_model(model, {model: given})
        if known.input is None:
            raise WindowUnknown(f"the window of model {model!r} is not known; give it as `window`, in tokens")
        reserve = policy.make_budget(known.input, known.max_output, ContextSettings(), known.total).reserve
        return cls(model, known.input, known.max_output, reserve, known.source)

    @property
    def usable_tokens(self) -> int:
        """The tokens of the longest prompt that leaves the reserve free for an answer."""
        return max(0, self.max_tokens - self.reserved_tokens)


class ContextBudget(Struct, frozen=True):
    """How the `total` tokens of a window are divided now: the tokens of the system prompt, the conversation and the
    tools, and the reserve for the answer."""

    total: int
    system_prompt: int = 0
    conversation: int = 0
    tools: int = 0
    response_reserve: int = 0

    @classmethod
    def for_request(
        cls, limits: ContextLimits, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Self:
        """Returns the budget of a request. Raises `InvalidRequest` if one of `messages` is no message."""
        counter = get_counter(limits.model)
        system = [message for message in messages if message.get("role") in ("system", "developer")]
        system_prompt = counter.count_messages(system)
        return cls(
            total=limits.max_tokens,
            system_prompt=system_prompt,
            conversation=counter.count_messages(messages) - system_prompt,
            tools=counter.count_tools(tools),
            response_reserve=limits.reserved_tokens,
        )

    @classmethod
    def of(cls, window: int, used: int, shares: BudgetShares) -> Self:
        """Returns the budget of a conversation with `used` tokens in a window of `window` tokens. `shares` has the
        tokens of the system prompt and the tools, and the reserve."""
        return cls(
            total=window,
            system_prompt=shares.system_prompt,
            conversation=used - shares.system_prompt - shares.tools,
            tools=shares.tools,
            response_reserve=shares.reserve,
        )

    @property
    def available(self) -> int:
        """The tokens that are still free for new messages; 0 if there are none."""
        return max(0, self._left)

    @property
    def overflow(self) -> int:
        """The tokens by which system prompt, conversation, tools and reserve exceed the window; 0 if they fit."""
        return max(0, -self._left)

    @property
    def _left(self) -> int:
        return self.total - self.system_prompt - self.conversation - self.tools - self.response_reserve


@checked
class ContextTracker:
    """Counts the tokens of one context's messages and compares them with a model's limits.

    Counts are estimates until `update_usage` is given the usage that the provider reports. Without `limits`, those of
    the catalog are used. Raises `WindowUnknown` if the catalog doesn't know the model.
    """

    def __init__(self, model: str, limits: ContextLimits | None = None, counter: TokenCounter | None = None) -> None:
        self.model = model
        self.limits = limits or ContextLimits.for_model(model)
        self.counter = counter or get_counter(model)
        self._engine = engine_counter(self.counter)
        self._clear()

    @classmethod
    def restore(cls, model: str, limits: ContextLimits, state: tracker.TrackerState) -> Self:
        """Returns a tracker that continues from the state of one of the engine's (`ullage.tokens`)."""
        restored = cls(model, limits)
        restored._tracker, restored._count = tracker.ContextTracker.restore(state), state.messages
        return restored

    def update(self, messages: Sequence[Mapping[str, Any] | Message]) -> int:
        """Replaces all messages of the context, and drops reported usage. Returns the tokens in the context. Raises
        `InvalidRequest` if one of `messages` is not a message."""
        read = MessageList(messages).messages
        self._clear()
        self._add(read)
        return self.used_tokens

    def add_message(self, message: Mapping[str, Any] | Message) -> int:
        """Adds a message at the end. Returns the tokens in the context. Raises `InvalidRequest`."""
        self._add(MessageList([message]).messages)
        return self.used_tokens

    def update_usage(self, usage: Mapping[str, Any]) -> None:
        """Sets the context's size to the usage that the provider reported with the last message, which must be an
        answer. `usage` is in the provider's own form. Raises `InvalidRequest` if it has none of the provider's fields,
        or no message was added yet."""
        if not self._count:
            raise InvalidRequest("a usage belongs to an answer; add the answer first")
        self._tracker.report(read_usage(plain(usage)), str(self._count), 0)

    @property
    def used_tokens(self) -> int:
        """The tokens in the context."""
        return self._tracker.reading.used

    @property
    def source(self) -> UsageSource:
        """Where `used_tokens` comes from: `reported` by the provider, `stale` (before an edit), or `estimated`."""
        return self._tracker.reading.source

    @property
    def available_tokens(self) -> int:
        """The tokens that are still free for messages, without the reserve for the answer; 0 if there are none."""
        return max(0, self.limits.usable_tokens - self.used_tokens)

    def exceeds_limit(self, additional: int = 0) -> bool:
        """Returns whether the context, with `additional` more tokens, leaves no room for an answer."""
        return self.used_tokens + additional > self.limits.usable_tokens

    def overflow_amount(self) -> int:
        """Returns by how many tokens the context is too large to leave room for an answer; 0 if it leaves room."""
        return max(0, self.used_tokens - self.limits.usable_tokens)

    def _clear(self) -> None:
        self._tracker = tracker.ContextTracker()
        self._count = 0

    def _add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._count += 1
            self._tracker.append(str(self._count), message.role, self._engine.break_down(message))
