"""The strategies that the settings name, and the chain of several: which messages each drops first."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.edits.strategies.situation import Candidate, Situation, until_fits
from ullage.edits.strategies.truncation import Truncation, TruncationStrategy
from ullage.model.message import Message, Role
from ullage.model.settings import RangeKeep, Selective, SlidingWindow, Smart, TokenBudget, TruncateRange
from ullage.transcript.cut_points import groups


class SlidingWindowStrategy(SlidingWindow, Truncation, frozen=True, kw_only=True, tag="sliding_window"):
    """Drops every message before the last `max_messages` that may be dropped, even if the context fits its token
    limit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        start = len(situation.messages) - self.max_messages
        return tuple(candidate for candidate in situation.candidates if candidate.places[0] < start)


class TokenBudgetStrategy(TokenBudget, Truncation, frozen=True, kw_only=True, tag="token_budget"):
    """Drops the oldest messages that may be dropped until the rest fits the token limit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        return until_fits(situation.candidates, situation.excess)


class SelectiveStrategy(Selective, Truncation, frozen=True, kw_only=True, tag="selective"):
    """Drops groups of messages kind by kind (tool uses, assistant, user), in the given `order` and of each kind the
    oldest first, until the rest fits the token limit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        ordered = (each for speaker in self.order for each in situation.free if each.speaker is speaker)
        return until_fits(ordered, situation.excess)


class SmartTruncationStrategy(Smart, Truncation, frozen=True, kw_only=True, tag="smart"):
    """Keeps the first `keep_first` and the last `keep_last` messages, and drops the oldest messages between them until
    the rest fits the token limit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        start, stop = self.keep_first, len(situation.messages) - self.keep_last
        middle = (each for each in situation.free if start <= each.places[0] and each.places[-1] < stop)
        return until_fits(middle, situation.excess)


class RangeTruncationStrategy(TruncateRange, Truncation, frozen=True, kw_only=True, tag="truncate_range"):
    """Keeps the first exchange and drops a range of messages after it; `keep` says how much of the rest stays. If the
    rest does not fit the token limit, the range is extended in the same way."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        spoken = [i for i, message in enumerate(situation.messages) if message.role is not Role.SYSTEM]
        roles = [situation.messages[i].role for i in spoken]
        gone: tuple[Candidate, ...] = ()
        end = first_exchange(situation.messages)
        deleted = first = sum(i < end for i in spoken)
        while situation.after(gone).excess > 0:
            removed = next_truncation_range(roles, deleted, self.keep)
            if not removed:
                break
            places = {spoken[i] for i in range(first, removed.stop)}
            gone = tuple(each for each in situation.free if places.issuperset(each.places))
            deleted = removed.stop
        return gone


def next_truncation_range(roles: Sequence[Role], start: int, keep: RangeKeep) -> range:
    """Returns the range of indices into `roles` that is dropped next. It begins at `start`, the index after the first
    exchange or after the last truncation.

    The range has an even length, so that roles alternate across the gap. `half` and `quarter` are the shares of the
    rest that stay, rounded to whole exchanges; `lastTwo` keeps two messages, `none` keeps nothing. If the last message
    of the range has the same role as its first message, the range ends one message earlier.
    """
    rest = max(0, len(roles) - start)
    removed = {
        RangeKeep.NONE: rest,
        RangeKeep.LAST_TWO: max(0, rest - 2),
        RangeKeep.HALF: rest // 4 * 2,
        RangeKeep.QUARTER: rest * 3 // 4 // 2 * 2,
    }[keep]
    if removed and roles[start + removed - 1] is roles[start]:
        removed -= 1
    return range(start, start + removed)


def first_exchange(messages: Sequence[Message]) -> int:
    """Returns the index after the first exchange: after the first group of messages that contains an answer. Without an
    answer it is the number of messages."""
    for group in groups(messages):
        if any(messages[i].role is Role.ASSISTANT for i in group):
            return group.stop
    return len(messages)


class CompositeStrategy(Struct, Truncation, frozen=True):
    """A chain of strategies. Each runs only if the strategies before it did not meet the limit."""

    strategies: tuple[TruncationStrategy, ...]

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        gone: tuple[Candidate, ...] = ()
        for strategy in self.strategies:
            if situation.excess <= 0:
                break
            chosen = strategy.choose(situation)
            situation = situation.after(chosen)
            gone += chosen
        return gone
