"""Makes an edit from a chain of strategies, as the settings name them."""

from collections.abc import Sequence

from msgspec.structs import asdict

from ullage.edits.counted import CountedView, Stamp
from ullage.edits.strategies.choices import (
    CompositeStrategy,
    RangeTruncationStrategy,
    SelectiveStrategy,
    SlidingWindowStrategy,
    SmartTruncationStrategy,
    TokenBudgetStrategy,
)
from ullage.edits.strategies.situation import Keep
from ullage.edits.strategies.truncation import TruncationStrategy, plan_drop
from ullage.model.edits import Edit
from ullage.model.strategies import (
    Selective,
    SlidingWindow,
    Smart,
    StrategySettings,
    TokenBudget,
    TruncateRange,
    TruncationMode,
)

_BY_MODE: dict[TruncationMode, StrategySettings] = {
    TruncationMode.SLIDING_WINDOW: SlidingWindow(),
    TruncationMode.TOKEN_BUDGET: TokenBudget(),
    TruncationMode.SMART: Smart(),
    # The strategy for the case that no summary could be made.
    TruncationMode.SUMMARIZE: Smart(),
}


def chain_for(mode: TruncationMode, strategies: Sequence[StrategySettings]) -> tuple[StrategySettings, ...]:
    """Returns the chain that the settings ask for. If they name no strategies, the chain is the mode's own strategy
    with its defaults."""
    return tuple(strategies) or (_BY_MODE[mode],)


def plan_truncation(
    view: CountedView, strategies: Sequence[StrategySettings], limit: int, keep: Keep, stamp: Stamp
) -> tuple[Edit, ...]:
    """Returns the edits that bring the context to at most `limit` tokens, made by a chain: the strategies in their
    order, each used until the limit is met. If whole groups cannot reach the limit, the edits come as near to it as
    possible.

    Returns no edits if the context fits already or no message may be dropped.
    """
    if view.used <= limit:
        return ()
    chain = CompositeStrategy(tuple(make_strategy(settings) for settings in strategies))
    edit = plan_drop(view, chain, limit, keep, stamp)
    return () if edit is None else (edit,)


def make_strategy(settings: StrategySettings) -> TruncationStrategy:
    """Returns the strategy that the settings describe."""
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
