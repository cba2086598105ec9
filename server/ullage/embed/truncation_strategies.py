"""Strategies, which choose the whole messages to drop from a list that is too long. A program can write its own.

Every strategy keeps the system prompts, the first user message, pinned messages and the last exchange, keeps a tool
call together with its result, and marks the gap with one notice. If a strategy's choice is not enough, the oldest
messages are dropped until the rest fits.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, runtime_checkable

from ullage.edits.drop import DropCandidate, Situation, StrategyChain, make_strategy
from ullage.edits.drop import TruncationStrategy as EngineStrategy
from ullage.embed.counters import BaseCounter, TokenCounter, engine_counter
from ullage.embed.messages import MessageList, checked, choice
from ullage.model.message import Message, Role
from ullage.model.settings import Messages as Kept
from ullage.model.settings import (
    RangeKeep,
    Selective,
    SlidingWindow,
    Smart,
    Speaker,
    StrategySettings,
    TokenBudget,
    TruncateRange,
    TruncationMode,
)
from ullage.tokens.counter import TokenCounter as EngineCounter

Messages = Sequence[Any]
# Writes a message of the engine's as the program has it.
Write = Callable[[Message], list[Any]]


@runtime_checkable
class TruncationStrategy(Protocol):
    """A way to make a list of messages shorter. A program's own class needs only this method to be used in a
    `CompositeStrategy` or a `ContextManager`."""

    def truncate(self, messages: Messages, target_tokens: int, counter: TokenCounter) -> list[Any]:
        """Returns the messages to keep: some of `messages`, in the same order, in at most `target_tokens` if that is
        possible."""
        ...


class _BuiltIn:
    """The base of the strategies in this module."""

    preserve_system = True

    def truncate(
        self, messages: Messages, target_tokens: int, counter: TokenCounter, *, pinned: Collection[int] = ()
    ) -> list[Any]:
        """Returns the messages to keep, with a notice in the first gap. They have at most `target_tokens`, unless the
        messages that must be kept have more.

        `pinned` are indices of messages that must be kept. Raises `InvalidRequest` if one of `messages` is not a
        message.
        """
        given = MessageList(messages)
        engine = engine_counter(counter)
        held = given.ids_at(pinned)
        left = list(given.messages)
        strategy = to_engine(self, engine, lambda message: given.give_back([message]))
        kept = _truncated(strategy, left, target_tokens, engine, held)
        if not self.preserve_system and kept != left:
            left = [message for message in left if message.role is not Role.SYSTEM or message.id in held]
            kept = _truncated(strategy, left, target_tokens, engine, held)
        return given.give_back(kept)


def _truncated(
    strategy: EngineStrategy, messages: Sequence[Any], target: int, counter: EngineCounter, pinned: Collection[str]
) -> list[Any]:
    return list(strategy.truncate(messages, target, counter, pinned=pinned))


class _Ready(_BuiltIn):
    """The base of the strategies that can also be chosen in the settings."""

    @property
    @abstractmethod
    def settings(self) -> StrategySettings:
        """The strategy and its options in the form of the settings."""


@checked
class SlidingWindowStrategy(_Ready):
    """Keeps the last `window_size` messages, even if more would fit. If `preserve_system` is false, system prompts are
    dropped, too; in a `ContextManager` they are always kept."""

    def __init__(self, window_size: Kept = 20, preserve_system: bool = True) -> None:
        self.window_size = window_size
        self.preserve_system = preserve_system

    @property
    def settings(self) -> SlidingWindow:
        return SlidingWindow(max_messages=self.window_size)


@checked
class TokenBudgetStrategy(_Ready):
    """Keeps as many of the newest messages as fit the target."""

    def __init__(self) -> None:
        """Has no options: the budget is given with the messages."""

    @property
    def settings(self) -> TokenBudget:
        return TokenBudget()


@checked
class SelectiveStrategy(_Ready):
    """Drops messages kind by kind until the rest fits: first those of the first kind in `order` (`tool`, `assistant` or
    `user`), then those of the next, and of each kind the oldest first."""

    def __init__(self, order: Sequence[Speaker | str] = (Speaker.TOOL, Speaker.ASSISTANT)) -> None:
        self.order = tuple(choice("order", Speaker, speaker) for speaker in order)

    @property
    def settings(self) -> Selective:
        return Selective(order=self.order)


@checked
class SmartTruncationStrategy(_Ready):
    """Keeps the first `preserve_first` and the last `preserve_last` messages, and as many of the newest between them as
    fit."""

    def __init__(self, preserve_first: Kept = 2, preserve_last: Kept = 10) -> None:
        self.preserve_first = preserve_first
        self.preserve_last = preserve_last

    @property
    def settings(self) -> Smart:
        return Smart(keep_first=self.preserve_first, keep_last=self.preserve_last)


@checked
class RangeTruncationStrategy(_Ready):
    """Drops one whole range of messages after the first exchange. `keep` is how much of the messages after the first
    exchange remains: `none`, `lastTwo`, `half` or `quarter`."""

    def __init__(self, keep: RangeKeep | str = RangeKeep.HALF) -> None:
        self.keep = choice("keep", RangeKeep, keep)

    @property
    def settings(self) -> TruncateRange:
        return TruncateRange(keep=self.keep)


@checked
class CompositeStrategy(_BuiltIn):
    """A chain of strategies, the program's own included. Each runs only if those before it did not make enough room.
    Raises `TypeError` if one of `strategies` has no method `truncate`."""

    def __init__(self, strategies: Sequence[TruncationStrategy]) -> None:
        self.strategies = list(strategies)
        for strategy in self.strategies:
            check_strategy(strategy)


def check_strategy(strategy: object) -> None:
    """Raises `TypeError` if an object has no method `truncate`, or is a class and not an object of it."""
    if not isinstance(strategy, TruncationStrategy) or isinstance(strategy, type):
        raise TypeError(f"{strategy!r} is no strategy: it needs a method truncate(messages, target_tokens, counter)")


def to_engine(strategy: TruncationStrategy, counter: EngineCounter, write: Write) -> EngineStrategy:
    """Returns the strategy in the engine's form, for one of this module or one of the program's own. `counter` counts
    the messages, and `write` converts an engine message into the messages that the program's strategy gets."""
    match strategy:
        case CompositeStrategy():
            return StrategyChain(tuple(to_engine(each, counter, write) for each in strategy.strategies))
        case _Ready():
            return make_strategy(strategy.settings)
        case _:
            return _Own(strategy, counter, write)


def strategy_for(mode: TruncationMode) -> TruncationStrategy:
    """Returns the default strategy of a mode. For `summarize`, it is the one that is used if no summary can be
    written."""
    match mode:
        case TruncationMode.SLIDING_WINDOW:
            return SlidingWindowStrategy()
        case TruncationMode.TOKEN_BUDGET:
            return TokenBudgetStrategy()
        case TruncationMode.SMART | TruncationMode.SUMMARIZE:
            return SmartTruncationStrategy()


class _Own(EngineStrategy):
    """A program's own strategy in the engine's form. The messages that it leaves out are dropped.

    New messages that it returns are not used, because the transcript only grows by messages that are appended.
    """

    __slots__ = ("_counter", "_strategy", "_write")

    def __init__(self, strategy: TruncationStrategy, counter: EngineCounter, write: Write) -> None:
        self._strategy = strategy
        self._counter = counter
        self._write = write

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        used = self._counter.count_messages(situation.messages)
        written = [(message.id, own) for message in situation.messages for own in self._write(message)]
        left = self._strategy.truncate([own for _, own in written], used - situation.excess, BaseCounter(self._counter))
        objects = {id(own) for own in left}
        kept = {message_id for message_id, own in written if id(own) in objects or own in left}
        return tuple(
            each for each in situation.candidates if not any(situation.messages[at].id in kept for at in each.places)
        )
