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
from ullage.model.settings import (
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
    """Returns the strategies that the settings ask for: those they name, or the mode's own strategy with its defaults
    if they name none."""
    return tuple(strategies) or (_BY_MODE[mode],)


def make_chain(strategies: Sequence[StrategySettings]) -> TruncationStrategy:
    """Returns one strategy that runs those of the settings in their order, each only if those before it did not meet
    the limit."""
    return CompositeStrategy(tuple(make_strategy(settings) for settings in strategies))


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
