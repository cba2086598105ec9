"""Token counters for a program's own texts and messages, built on the engine's counters (`ullage.tokens`)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from ullage.embed.keywords import checked
from ullage.embed.messages import MessageList
from ullage.formats.provider import Provider, read_definitions
from ullage.model.message import Message, ToolDefinition
from ullage.tokens import counter as engine_counters
from ullage.tokens.counter import TokenCounter as EngineCounter
from ullage.tokens.families import UNKNOWN, Family, bare_name, family_of
from ullage.tokens.message_counter import MessageCounter
from ullage.tokens.vocabulary import load_encoding

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
        """The mean error of the counts as a share of the true count: 0.14 means 14 per cent. 0.0 if counts are
        exact."""
        return self.engine.error_share

    def count(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        return self.engine.count(text)

    def count_message(self, message: Mapping[str, Any] | Message) -> int:
        """Returns the number of tokens that a message adds to a prompt. Raises `InvalidRequest` if it is not a
        message."""
        return self.count_messages([message])

    def count_messages(self, messages: Sequence[Mapping[str, Any] | Message]) -> int:
        """Returns the sum over the messages; `count_prompt` counts a whole request. Raises `InvalidRequest` if one of
        `messages` is not a message."""
        return self.engine.count_messages(MessageList(messages).messages)

    def count_prompt(
        self, messages: Sequence[Mapping[str, Any] | Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Returns the tokens of a request, as the provider reports them: those of its messages and tools, and for
        OpenAI's models three for the opening of the answer. Raises `InvalidRequest` if one of `messages` is not a
        message."""
        return self.engine.count_prompt(MessageList(messages).messages, _definitions(tools))

    def count_tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """Returns the tokens that the definitions of offered tools add to a prompt, in OpenAI's shape or
        Anthropic's."""
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
        family = family.counted_with(encoding_name) if encoding_name else family
        super().__init__(engine_counters.TiktokenCounter(family))
        self._encoding = load_encoding(family.encoding)

    @property
    def encoding_name(self) -> str:
        """The name of the vocabulary: `o200k_base` or `cl100k_base`."""
        return self._encoding.name

    def encode(self, text: str) -> list[int]:
        """Returns the text as a list of tokens, which are numbers of the vocabulary. Special tokens in it are encoded
        as ordinary text."""
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


def get_counter(model: str, encoding: str | None = None) -> TiktokenCounter | ApproximateCounter:
    """Returns the best counter for a model, whose name may be spelled as any provider spells it.

    `encoding` (`cl100k_base`, `o200k_base` or `approximate`) replaces the model's own. If the vocabulary can't be
    loaded, returns an `ApproximateCounter` and logs one warning.
    """
    if engine_counters.get_counter(model, encoding).name == "approximate":
        return ApproximateCounter(model=model)
    return TiktokenCounter(model, encoding)


def engine_counter(counter: TokenCounter | EngineCounter) -> EngineCounter:
    """Returns the engine's counter (`ullage.tokens`) for `counter`: the one inside a counter of this module, `counter`
    itself if it is one of the engine's, or a new one that counts by any other object with a method `count`."""
    engine = getattr(counter, "engine", None)
    if engine is not None:
        return engine
    return cast("EngineCounter", counter) if isinstance(counter, MessageCounter) else _OwnCounter(counter)


def _definitions(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    chat = any("function" in tool or "parameters" in tool for tool in tools)
    return read_definitions(Provider.OPENAI if chat else Provider.ANTHROPIC, tools)


class _OwnCounter(MessageCounter):
    """Counts messages by a program's own counter of texts."""

    name = "own"
    error_share = 0.0

    def __init__(self, counter: TokenCounter, family: Family = UNKNOWN) -> None:
        super().__init__(family)
        self._counter = counter

    def count(self, text: str) -> int:
        return self._counter.count(text)
