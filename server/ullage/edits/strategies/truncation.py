"""Truncation: a strategy's choice made into an edit. Both faces of every strategy end here.

What a strategy prefers is its own; what holds for all is here: the limit is kept whenever that is legal (what a
strategy would rather keep goes oldest first, a summary last), the context gets smaller, and one notice stands where
the first gap is, for this truncation and all before it.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp, count_view
from ullage.edits.drop import drop, notice
from ullage.edits.strategies.situation import Candidate, Keep, Situation, assess, until_fits
from ullage.model.edits import DropEdit
from ullage.model.message import Message
from ullage.tokens.counter import TokenCounter
from ullage.transcript.rules.tool_pairs import is_pure_prompt
from ullage.transcript.view import Item


class TruncationStrategy(Protocol):
    """A way of leaving messages out."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        """What goes by this strategy; nothing when the situation is as the strategy would have it."""
        ...

    def truncate(
        self, messages: Sequence[Message], target_tokens: int, counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """The messages that are left, at most `target_tokens` where that is legal, a notice where the gap is."""
        ...


class Truncation:
    """The second half of a strategy: `truncate`, worked out from its `choose`."""

    __slots__ = ()

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        """What goes by this strategy."""
        raise NotImplementedError

    def truncate(
        self, messages: Sequence[Message], target_tokens: int, counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """The messages that are left; the same ones when nothing needs to go."""
        view = count_view(messages, counter)
        first = next((message.id for message in messages if is_pure_prompt(message)), None)
        edit = plan_drop(
            view, self, target_tokens, Keep(pinned=frozenset(pinned), first_user_id=first), Stamp(id="", timestamp=0)
        )
        return tuple(messages) if edit is None else view.after(edit).messages


def plan_drop(view: CountedView, strategy: TruncationStrategy, limit: int, keep: Keep, stamp: Stamp) -> DropEdit | None:
    """The edit that brings the context to at most `limit` tokens by a strategy, or as near as whole groups allow.

    None when there is nothing to do or nothing may go.
    """
    notices = [item for item in view.items if _is_notice(item)]
    bare = _without(view, notices)
    # What a view that fits has in excess is nothing: only a strategy's own measure can then be exceeded.
    excess = bare.used + view.measure(notice(stamp)) - limit if view.used > limit else view.used - limit
    old = [item.message.id for item in notices]
    gone, freed = _choose(strategy, bare, excess, keep)
    if old and freed < excess:
        # A notice may be all that keeps a pinned answer apart from one that may go; without it they are one group.
        gone, _ = _choose(strategy, view, excess, replace(keep, pinned=keep.pinned.union(old)))
    return drop(view, (*old, *(item.message.id for item in gone)), stamp) if gone else None


def _choose(strategy: TruncationStrategy, view: CountedView, excess: int, keep: Keep) -> tuple[list[Item], int]:
    """What of the view goes, in its order, and the tokens of it."""
    situation = assess(view, excess, keep)
    chosen = strategy.choose(situation)
    rest = situation.after(chosen)
    candidates = (*chosen, *until_fits((*rest.candidates, *rest.summaries), rest.excess))
    places = sorted(place for candidate in candidates for place in candidate.places)
    return [view.items[place] for place in places], sum(candidate.tokens for candidate in candidates)


def _is_notice(item: Item) -> bool:
    """Whether an earlier truncation put it there; a compaction's marker is the only other thing put in."""
    return item.inserted and item.message.compaction is None


def _without(view: CountedView, items: Collection[Item]) -> CountedView:
    if not items:
        return view
    left = [(item, tokens) for item, tokens in zip(view.items, view.tokens, strict=True) if item not in items]
    return replace(view, items=[item for item, _ in left], tokens=[tokens for _, tokens in left])
