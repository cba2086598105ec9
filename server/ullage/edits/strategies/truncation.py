"""Truncation: makes an edit from a strategy's choice. Both `plan_drop`, which makes an edit for the log, and
`truncate`, which works on a plain list of messages, use this module.

The strategy decides what it prefers. This module ensures what holds for all strategies: the limit is kept whenever that
is legal (if the choice is not enough, the remaining messages are dropped oldest first, summaries last), the context
gets smaller, and one notice marks the first gap, for this truncation and all before it.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp, count_view
from ullage.edits.drop import drop, notice
from ullage.edits.strategies.situation import Candidate, Keep, Situation, assess, until_fits
from ullage.model.edits import DropEdit
from ullage.model.message import Message, Role
from ullage.tokens.counter import TokenCounter
from ullage.transcript.cut_points import is_pure_prompt
from ullage.transcript.view import Item


class TruncationStrategy(Protocol):
    """A rule for choosing which whole messages are dropped."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        """Returns the candidates that the strategy drops; an empty tuple if it drops none."""
        ...

    def truncate(
        self, messages: Sequence[Message], target_tokens: int, counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """Returns the messages that are left, with a notice in place of the first dropped ones; the same messages if
        none is dropped.

        They take at most `target_tokens`, unless the messages that must stay take more: system messages, the first user
        message, the newest that the user typed, messages with an id in `pinned`, and the last group.
        """
        ...


class Truncation:
    """The base class of the strategies. It implements `truncate` by means of the strategy's own `choose`."""

    __slots__ = ()

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        """Returns the candidates that the strategy drops. Each strategy defines it."""
        raise NotImplementedError

    def truncate(
        self, messages: Sequence[Message], target_tokens: int, counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """Does what `TruncationStrategy.truncate` says."""
        view = count_view(messages, counter)
        first = next((message.id for message in messages if is_pure_prompt(message)), None)
        edit = plan_drop(
            view, self, target_tokens, Keep(pinned=frozenset(pinned), first_user_id=first), Stamp(id="", timestamp=0)
        )
        return tuple(messages) if edit is None else view.after(edit).messages


def plan_drop(view: CountedView, strategy: TruncationStrategy, limit: int, keep: Keep, stamp: Stamp) -> DropEdit | None:
    """Returns the edit that brings the context to at most `limit` tokens by a strategy. If whole groups of messages
    cannot reach the limit, it comes as near to it as possible.

    If the context fits already, messages are dropped only by a strategy with a limit of its own, for example a number
    of messages. Returns None if no message is dropped. Messages in `keep` are never dropped.
    """
    notices = [item for item in view.items if _is_notice(item)]
    bare = _without(view, notices)
    # If the view fits, it has no excess that a notice could add to: only a strategy's own measure can still be
    # exceeded.
    excess = bare.used + view.measure(notice(stamp)) - limit if view.used > limit else view.used - limit
    old = [item.message.id for item in notices]
    gone, freed = _choose(strategy, bare, excess, keep)
    if old and freed < excess:
        # An earlier notice may be all that separates a pinned answer from one that may go; without the notice both are
        # one group.
        gone, _ = _choose(strategy, view, excess, replace(keep, pinned=keep.pinned.union(old)))
    return drop(view, (*old, *(item.message.id for item in gone)), stamp) if gone else None


def _choose(strategy: TruncationStrategy, view: CountedView, excess: int, keep: Keep) -> tuple[list[Item], int]:
    """Returns the items that are dropped, in order, and the sum of their tokens. If the strategy's choice is not enough
    to remove the excess, the remaining candidates are dropped oldest first, then summaries."""
    situation = assess(view, excess, keep)
    chosen = strategy.choose(situation)
    rest = situation.after(chosen)
    candidates = (*chosen, *until_fits((*rest.candidates, *rest.summaries), rest.excess))
    places = sorted(place for candidate in candidates for place in candidate.places)
    return [view.items[place] for place in places], sum(candidate.tokens for candidate in candidates)


def _is_notice(item: Item) -> bool:
    """Returns whether an earlier truncation inserted the item. The only other inserted items are a compaction's marker
    and a system prompt that takes the place of another."""
    return item.inserted and item.message.compaction is None and item.message.role is not Role.SYSTEM


def _without(view: CountedView, items: Collection[Item]) -> CountedView:
    if not items:
        return view
    left = [(item, tokens) for item, tokens in zip(view.items, view.tokens, strict=True) if item not in items]
    return replace(view, items=[item for item, _ in left], tokens=[tokens for _, tokens in left])
