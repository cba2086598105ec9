"""Counts for a program that manages a context itself: token counters for its texts and messages, a model's limits, how
the tokens of its window are divided, and a tracker of how full the context is.

All are built on the engine's own (`ullage.tokens`, `ullage.known_models`, `ullage.policy`).

Also what a program gives: its own list of messages, which becomes the engine's and is given back (an unchanged message
as the same object), and options and arguments, which are refused with the remedy. The format is recognised: OpenAI's
chat messages, items of its Responses, or Anthropic's messages."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum, StrEnum
from functools import wraps
from inspect import Parameter, iscoroutinefunction, isfunction, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Protocol,
    Self,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import msgspec
from msgspec import Struct

from ullage import known_models
from ullage.formats.parsing import read_usage
from ullage.formats.provider import Provider, read_definitions, read_messages, write_messages
from ullage.formats.verbatim import is_anthropic, is_chat, other_format, show
from ullage.known_models import LimitsSource
from ullage.model.errors import InvalidRequest, WindowUnknown
from ullage.model.json_values import MOST_LEVELS, as_object, is_too_deep
from ullage.model.message import Message, ToolDefinition
from ullage.model.settings import ContextSettings, ModelSettings, Tokens
from ullage.model.usage import BudgetShares, UsageSource
from ullage.policy import budget as policy
from ullage.tokens import counter as engine_counters
from ullage.tokens import tracker
from ullage.tokens.counter import TokenCounter as EngineCounter
from ullage.tokens.families import UNKNOWN, Family, bare_name, family_of
from ullage.tokens.vocabulary import load_encoding


class MessageList:
    """A program's messages as the engine's (`messages`), with their format (`provider`).

    Engine messages, which `read_messages` returns, are accepted, too, and are then returned in that form. Raises
    `InvalidRequest` if `given` is no list, or one of it is not a message.
    """

    def __init__(self, given: Sequence[Any], provider: Provider | None = None) -> None:
        given = listed("messages", given)
        ours = tuple(message for message in given if isinstance(message, Message))
        self._are_ours = bool(ours) and len(ours) == len(given)
        read: list[Any] = [] if self._are_ours else plain_messages(given)
        self.provider = provider or provider_of(read)
        self.messages = ours if self._are_ours else read_messages(self.provider, read)
        self._by_id = {message.id: (message, own) for message, own in zip(self.messages, given, strict=True)}

    def ids_at(self, pinned: Collection[int]) -> frozenset[str]:
        """Returns the ids of the messages with these indices. Raises `InvalidRequest` for one that no message has."""
        count = len(self.messages)
        for at in pinned:
            if at not in range(-count, count):
                raise InvalidRequest(f"`pinned` has {show(at)}; give indices of the {count} messages")
        return frozenset(self.messages[at].id for at in pinned)

    def give_back(self, messages: Sequence[Message]) -> list[Any]:
        """Returns messages as the program's: unchanged ones as the given objects, others in the same format."""
        back: list[Any] = []
        for message in messages:
            known, own = self._by_id.get(message.id, (None, None))
            if message == known:
                back.append(own)
            else:
                back.extend([message] if self._are_ours else write_messages(self.provider, message))
        return back


def provider_of(messages: Sequence[Any]) -> Provider:
    """Returns the format of the messages: `openai-responses` if one can only be an item of OpenAI's Responses,
    `anthropic` if they have a mark of Anthropic's format and none of OpenAI's, otherwise `openai`."""
    if any(other_format(Provider.OPENAI, as_object(message)) == Provider.OPENAI_RESPONSES for message in messages):
        return Provider.OPENAI_RESPONSES
    return Provider.ANTHROPIC if is_anthropic(messages) and not is_chat(messages) else Provider.OPENAI


def plain(value: Any) -> Any:
    """Returns a value as plain JSON values: objects of a provider's SDK, also inside lists and dicts, are converted as
    the SDK itself does it before it sends them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", exclude_unset=True, exclude=getattr(value, "__api_exclude__", None))
    if isinstance(value, Mapping):
        return {name: plain(field) for name, field in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple) or (isinstance(value, Iterable) and not isinstance(value, str | bytes)):
        return [plain(item) for item in cast("Iterable[Any]", value)]
    return value


def plain_messages(given: Iterable[Any]) -> list[Any]:
    """Returns messages as plain JSON values. Raises `InvalidRequest` if one is a list, a stream or another iterator,
    which is left as it is, refers to itself, or is nested too deeply to be stored."""
    messages: list[Any] = []
    for number, one in enumerate(given, start=1):
        is_message = isinstance(one, Mapping | str | bytes) or hasattr(one, "model_dump")
        if isinstance(one, Iterable) and not is_message:
            raise InvalidRequest(
                f"message {number} is {show(cast('Any', one))}; give one message after the other, as in `*messages`, "
                "and of a stream the whole answer when it has ended"
            )
        try:
            message = plain(one)
        except RecursionError:
            message = None
        if (message is None and one is not None) or is_too_deep([message]):
            raise InvalidRequest(f"message {number} refers to itself or has more than {MOST_LEVELS} levels; flatten it")
        messages.append(message)
    return messages


def listed(name: str, given: Any) -> list[Any]:
    """Returns a list that a program gave. Raises `InvalidRequest` if it is none."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(f"`{name}` is {show(given)}; give a list")
    return list(cast("Iterable[Any]", given))


E = TypeVar("E", bound=StrEnum)


def choice(name: str, kinds: type[E], given: Any) -> E:
    """Returns a word as one of an enumeration's. Raises `InvalidRequest` if it is none."""
    try:
        return kinds(given)
    except ValueError:
        raise InvalidRequest(f"`{name}` has {show(given)}; give one of {', '.join(kinds)}") from None


F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def check_options(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises `TypeError` for a name in `given` that is not in `known`. `where` is the class or function."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
        raise TypeError(f"{where}() has no option {name!r}; {remedy}")


def checked(made: C) -> C:
    """A class decorator: the class raises the `TypeError` of `check_options` for unknown options, its options and its
    methods' arguments are checked as by `valued`, and its `repr` shows the options that its objects were made with."""
    init = made.__init__
    options = [name for name in _names(init) if name != "self"]
    checking = valued(init)

    @wraps(init)
    def refusing(self: Any, *args: Any, **given: Any) -> None:
        check_options(made.__name__, given, options)
        checking(self, *args, **given)

    def shown(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in options if name in vars(self))
        return f"{made.__name__}({values})"

    made.__init__ = refusing
    cast("Any", made).__repr__ = shown
    for name, method in list(vars(made).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(made, name, valued(method))
    return made


def _names(function: Callable[..., Any]) -> list[str]:
    """Returns the names of a function's parameters, with those of the keywords that a `TypedDict` lists."""
    names = [name for name, kind in signature(function).parameters.items() if kind.kind is not Parameter.VAR_KEYWORD]
    listed = (get_args(hint) for hint in get_type_hints(function).values() if get_origin(hint) is Unpack)
    return [*names, *(name for (kind,) in listed for name in kind.__annotations__)]


def valued(function: F) -> F:
    """A decorator: the function raises `InvalidRequest` for an argument that is not of its plain type: a number, text,
    word of an enumeration, path or list. The error has the argument's name and what to give."""
    takes = signature(function)
    if len(takes.parameters) < 2:
        return function
    hints: dict[str, Any] = {}

    def check(args: Sequence[Any], given: Mapping[str, Any]) -> None:
        try:
            bound = takes.bind(*args, **given)
        except TypeError:
            return  # Python's own error names what is missing.
        # Names in a class's hints are known only once its module is loaded.
        hints.update(() if hints else get_type_hints(function, include_extras=True))
        for name, value in bound.arguments.items():
            if name in hints and takes.parameters[name].kind is not Parameter.VAR_POSITIONAL:
                _check_value(name, value, hints[name])

    if iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **given: Any) -> Any:
            check(args, given)
            return await function(*args, **given)

        return cast("F", awaited)

    @wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        check(args, given)
        return function(*args, **given)

    return cast("F", called)


def _check_value(name: str, value: Any, hint: Any) -> None:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = [get_args(member)[0] if get_origin(member) is Annotated else member for member in members]
    if [get_origin(kind) for kind in plain] in ([Sequence], [Collection]):
        listed(name, value)
        return
    if not all(isinstance(kind, type) and issubclass(kind, int | float | str | Path | NoneType) for kind in plain):
        return
    if isinstance(value, Enum | Path) and isinstance(value, tuple(plain)):
        return
    # A text may be given for an enumeration or a path, which says itself what is wrong with it.
    kinds = tuple(member for member, kind in zip(members, plain, strict=True) if not issubclass(kind, Enum | Path))
    try:
        msgspec.convert(value, cast("Any", Union)[kinds])
    except msgspec.ValidationError as error:
        wanted = str(error).removeprefix("Expected ").partition(", got ")[0].replace("null", "None")
        raise InvalidRequest(f"`{name}` is {show(value)}; give {wanted}") from None


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
    return counter if isinstance(counter, EngineCounter) else _OwnCounter(counter)


def _definitions(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    return read_definitions(None, tools)


class _OwnCounter(EngineCounter):
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
