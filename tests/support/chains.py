"""Hypothesis strategies that draw the settings of strategies, and chains of them."""

from hypothesis import strategies as st

from ullage.model.settings import (
    RangeKeep,
    Selective,
    SlidingWindow,
    Smart,
    Speaker,
    StrategySettings,
    TokenBudget,
    TruncateRange,
)

numbers = st.integers(0, 12)
strategies: st.SearchStrategy[StrategySettings] = st.one_of(
    st.just(TokenBudget()),
    st.builds(SlidingWindow, max_messages=numbers),
    st.builds(Smart, keep_first=numbers, keep_last=numbers),
    st.builds(Selective, order=st.lists(st.sampled_from(Speaker), unique=True).map(tuple)),
    st.builds(TruncateRange, keep=st.sampled_from(RangeKeep)),
)
chains = st.lists(strategies, min_size=1, max_size=3)
