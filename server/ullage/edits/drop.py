"""Dropping: leaves whole messages out of a view and puts one notice in their place.

A strategy decides which groups of messages it prefers to drop. `plan_drop`, which makes an edit for the log, and
`truncate`, which works on a plain list of messages, ensure what holds for all strategies: the limit is kept whenever
that is legal (if the choice is not enough, the remaining messages are dropped oldest first, summaries last), the
context gets smaller, and one notice marks the first gap, for this truncation and all before it. At the end are the
strategies that the settings name, and their chain.

`drop_inside` drops messages inside the last group. It is for a single answer of so many messages that shortening each
of them is not enough. Providers merge the messages of one answer, so splitting an answer breaks no rule of theirs; the
answer only reads as if it had begun later. Tool uses and results stay, because dropping one would leave the other
alone.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from ullage.edits.counted import CountedView, Stamp, count_view
from ullage.model.events import DropEdit, Edit
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock, is_sealed
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
from ullage.tokens.counter import TokenCounter
from ullage.transcript.view import Item, groups, is_pure_prompt, leading

# The same words however many messages are dropped, so that the next drop leaves the cached beginning of the prompt
# unchanged.
NOTICE = "[Earlier messages were left out here to make room.]"


def drop(view: CountedView, message_ids: Iterable[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that puts a notice in place of these messages, or None if that saves nothing."""
    draft = DropEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        message_ids=tuple(message_ids),
        notice=notice(stamp),
    )
    return view.saving(draft)


def notice(stamp: Stamp) -> Message:
    """Returns the notice that takes the place of dropped messages, as a user's message."""
    return Message(
        id=f"{stamp.id}-notice", role=Role.USER, content=(TextBlock(text=NOTICE),), timestamp=stamp.timestamp
    )


def drop_inside(view: CountedView, limit: int, stays: Collection[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that leaves out the oldest messages of the last group until the context has at most `limit`
    tokens, or all that may be dropped if that is not enough. Returns None if the context fits already or if no message
    may be dropped. The very last message, the newest that the user typed, messages with tool uses or results, sealed
    ones with the message after them, and those with an id in `stays` are kept."""
    if view.used <= limit:
        return None
    messages = view.messages
    excess = view.used - limit + view.measure(notice(stamp))
    dropped: list[str] = []
    for at in _may_go(messages, {*stays, view.newest.id} if view.newest else stays):
        if excess <= 0:
            break
        excess -= view.tokens[at]
        dropped.append(messages[at].id)
    return drop(view, dropped, stamp) if dropped else None


def _may_go(messages: tuple[Message, ...], stays: Collection[str]) -> Iterator[int]:
    last = groups(messages)[-1] if messages else range(0)
    follows_sealed = False
    for at in last[:-1]:
        is_seal = any(map(is_sealed, messages[at].content))
        has_call = any(isinstance(block, ToolUseBlock | ToolResultBlock) for block in messages[at].content)
        # A provider that has reasoning or a tool of its own in one item asks for the item that came of it.
        if messages[at].id not in stays and not (is_seal or has_call or follows_sealed):
            yield at
        follows_sealed = is_seal


class Keep(Struct, frozen=True, kw_only=True):
    """The ids of messages that every strategy keeps, besides the newest that the user typed: pinned messages and the
    first user message. `relied` are the ids of messages that show what notices in other messages refer to; they are
    only dropped in order of age, so that each notice is dropped before the message that it refers to."""

    pinned: frozenset[str] = frozenset()
    first_user_id: str | None = None
    relied: frozenset[str] = frozenset()


class DropCandidate(Struct, frozen=True, kw_only=True):
    """A group of messages that may be dropped together: their indices in the view, ascending, and their tokens.
    `speaker` is their kind: `tool` if any of them has a tool use or a result, else by the first message's role.
    `relied` is set if a notice refers to one of them."""

    places: tuple[int, ...]
    tokens: int
    speaker: Speaker
    relied: bool = False


class Situation(Struct, frozen=True, kw_only=True):
    """A view from which messages are to be dropped. `excess` is the number of tokens over the limit, 0 or less if the
    view fits. `candidates` are the groups that may be dropped, oldest first. `summaries` are groups with compaction
    markers; they are dropped only when no candidate is left."""

    messages: Sequence[Message]
    excess: int
    candidates: tuple[DropCandidate, ...]
    summaries: tuple[DropCandidate, ...] = ()

    @property
    def free(self) -> tuple[DropCandidate, ...]:
        """The candidates that may be dropped in any order: those that no notice refers to."""
        return tuple(candidate for candidate in self.candidates if not candidate.relied)

    def after(self, gone: Collection[DropCandidate]) -> "Situation":
        places = {candidate.places for candidate in gone}
        return replace(
            self,
            excess=self.excess - sum(candidate.tokens for candidate in gone),
            candidates=tuple(candidate for candidate in self.candidates if candidate.places not in places),
        )


def assess(view: CountedView, excess: int, keep: Keep) -> Situation:
    """Returns the situation of a view that is `excess` tokens over its limit.

    Every group of messages but the last is a candidate, without its messages that must be kept. Groups with the marker
    of a compaction are in `summaries`, not in `candidates`. The last group is kept, because a request must end with the
    message to be answered.
    """
    messages = view.messages
    stays = {*leading(messages, keep.first_user_id), *view.kept(keep.pinned)}
    found = [
        DropCandidate(
            places=places,
            tokens=sum([view.tokens[i] for i in places]),
            speaker=_speaker(messages, places),
            relied=bool(keep.relied) and any(messages[i].id in keep.relied for i in places),
        )
        for group in groups(messages)[:-1]
        if (places := tuple([i for i in group if messages[i].id not in stays]))
    ]
    marked = {i for i, message in enumerate(messages) if message.compaction}
    summaries = tuple(each for each in found if not marked.isdisjoint(each.places)) if marked else ()
    return Situation(
        messages=messages,
        excess=excess,
        candidates=tuple(each for each in found if each not in summaries),
        summaries=summaries,
    )


def until_fits(order: Iterable[DropCandidate], excess: int) -> tuple[DropCandidate, ...]:
    """Returns as many candidates of `order` as are needed to drop `excess` tokens, or all."""
    gone: list[DropCandidate] = []
    for candidate in order:
        if excess <= 0:
            break
        gone.append(candidate)
        excess -= candidate.tokens
    return tuple(gone)


def _speaker(messages: Sequence[Message], places: Sequence[int]) -> Speaker:
    for i in places:
        for block in messages[i].content:
            if isinstance(block, ToolUseBlock | ToolResultBlock):
                return Speaker.TOOL
    return Speaker.ASSISTANT if messages[places[0]].role is Role.ASSISTANT else Speaker.USER


class TruncationStrategy:
    """A rule for choosing which whole messages are dropped. A strategy defines `choose`; `truncate` works by it."""

    __slots__ = ()

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        """Returns the candidates that the strategy drops; an empty tuple if it drops none."""
        raise NotImplementedError

    def truncate(
        self, messages: Sequence[Message], target_tokens: int, counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """Returns the messages that are left, with a notice in place of the first dropped ones; the same messages if
        none is dropped.

        They take at most `target_tokens`, unless the messages that must stay take more: system messages, the first user
        message, the newest that the user typed, messages with an id in `pinned`, and the last group.
        """
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


class SlidingWindowStrategy(SlidingWindow, TruncationStrategy, frozen=True, kw_only=True, tag="sliding_window"):
    """Drops every droppable message before the last `max_messages`, even if the context fits its limit."""

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        start = len(situation.messages) - self.max_messages
        return tuple(candidate for candidate in situation.candidates if candidate.places[0] < start)


class TokenBudgetStrategy(TokenBudget, TruncationStrategy, frozen=True, kw_only=True, tag="token_budget"):
    """Drops the oldest messages that may be dropped until the rest fits the token limit."""

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        return until_fits(situation.candidates, situation.excess)


class SelectiveStrategy(Selective, TruncationStrategy, frozen=True, kw_only=True, tag="selective"):
    """Drops groups of messages kind by kind (tool uses, assistant, user), in the given `order` and of each kind the
    oldest first, until the rest fits the token limit."""

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        ordered = (each for speaker in self.order for each in situation.free if each.speaker is speaker)
        return until_fits(ordered, situation.excess)


class SmartTruncationStrategy(Smart, TruncationStrategy, frozen=True, kw_only=True, tag="smart"):
    """Keeps the first `keep_first` and last `keep_last` messages; drops the oldest between until the rest fits."""

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        start, stop = self.keep_first, len(situation.messages) - self.keep_last
        middle = (each for each in situation.free if start <= each.places[0] and each.places[-1] < stop)
        return until_fits(middle, situation.excess)


class RangeTruncationStrategy(TruncateRange, TruncationStrategy, frozen=True, kw_only=True, tag="truncate_range"):
    """Keeps the first exchange and drops a range of messages after it; `keep` says how much of the rest stays. If the
    rest does not fit the token limit, the range is extended in the same way."""

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        spoken = [i for i, message in enumerate(situation.messages) if message.role is not Role.SYSTEM]
        roles = [situation.messages[i].role for i in spoken]
        gone: tuple[DropCandidate, ...] = ()
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
    """Returns the index after the first group with an answer, or the number of messages without one."""
    for group in groups(messages):
        if any(messages[i].role is Role.ASSISTANT for i in group):
            return group.stop
    return len(messages)


class StrategyChain(Struct, TruncationStrategy, frozen=True):
    """A chain of strategies. Each runs only if the strategies before it did not meet the limit."""

    strategies: tuple[TruncationStrategy, ...]

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        gone: tuple[DropCandidate, ...] = ()
        for strategy in self.strategies:
            if situation.excess <= 0:
                break
            chosen = strategy.choose(situation)
            situation = situation.after(chosen)
            gone += chosen
        return gone


_BY_MODE: dict[TruncationMode, StrategySettings] = {
    TruncationMode.SLIDING_WINDOW: SlidingWindow(),
    TruncationMode.TOKEN_BUDGET: TokenBudget(),
    TruncationMode.SMART: Smart(),
    # The strategy for the case that no summary could be made.
    TruncationMode.SUMMARIZE: Smart(),
}


def chain_for(mode: TruncationMode, strategies: Sequence[StrategySettings]) -> tuple[StrategySettings, ...]:
    """Returns the strategies that the settings name, or else the mode's own with its defaults."""
    return tuple(strategies) or (_BY_MODE[mode],)


def make_chain(strategies: Sequence[StrategySettings]) -> TruncationStrategy:
    """Returns one strategy that runs the settings' strategies in order, until the limit is met."""
    return StrategyChain(tuple(make_strategy(settings) for settings in strategies))


def plan_truncation(
    view: CountedView, strategy: TruncationStrategy, limit: int, keep: Keep, stamp: Stamp
) -> tuple[Edit, ...]:
    """Returns the edits that bring the context to at most `limit` tokens by a strategy. If whole groups cannot reach
    the limit, the edits come as near to it as possible.

    Returns no edits if the context fits already or no message may be dropped.
    """
    if view.used <= limit:
        return ()
    edit = plan_drop(view, strategy, limit, keep, stamp)
    return () if edit is None else (edit,)


def make_strategy(settings: StrategySettings) -> TruncationStrategy:
    """Returns the strategy that carries out one entry of the settings."""
    match settings:
        case SlidingWindow():
            return SlidingWindowStrategy(**asdict(settings))
        case TokenBudget():
            return TokenBudgetStrategy()
        case Selective():
            return SelectiveStrategy(**asdict(settings))
        case Smart():
            return SmartTruncationStrategy(**asdict(settings))
        case TruncateRange():
            return RangeTruncationStrategy(**asdict(settings))
