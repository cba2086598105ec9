"""The context budget: how much of a window can be used, and where the thresholds lie."""

from msgspec import Struct

from ullage.model.settings import ContextSettings, settled
from ullage.model.usage import Breakdown, BudgetShares

# Room for an answer. The answers of coding agents rarely exceed it. Reserving all of a 64k output limit would make
# thresholds fire near half of a 128k window, a known complaint about other products.
_RESERVE_CAP = 20_000
# Used where the catalog knows no output limit; the smallest limit among current chat models is 4,096.
_DEFAULT_MAX_OUTPUT = 8_192
_TAIL_SHARE, _TAIL_MIN, _TAIL_MAX = 0.25, 2_000, 20_000


class ContextBudget(Struct, frozen=True, kw_only=True):
    """The figures of one window, all in tokens. `window` is the most that the model takes as input and `reserve` the
    part of it kept free for the answer; the rest is usable.

    `warn_at`, `clear_at` and `compact_at` are thresholds, reached when the context has at least so many tokens.
    `target` is the most that a compaction leaves, and `keep_tail` the size of the tail that it keeps verbatim.
    """

    window: int
    reserve: int
    warn_at: int
    compact_at: int
    clear_at: int
    target: int
    keep_tail: int

    @property
    def usable(self) -> int:
        """The tokens that a prompt may take: the window less the reserve."""
        return self.window - self.reserve

    def overflow(self, used: int) -> int:
        """Returns how many of `used` tokens exceed usable; 0 if they fit."""
        return max(0, used - self.usable)

    def available(self, used: int) -> int:
        """Returns how many tokens of usable are free after `used` tokens; 0 if `used` exceeds usable."""
        return max(0, self.usable - used)

    def shares(self, breakdown: Breakdown) -> BudgetShares:
        """Returns how the window is shared out for a context with this breakdown. If the system prompt and the tools
        leave no room for the conversation, its share is 0, and the other shares add up to more than the window."""
        system_prompt = breakdown.system_prompt + breakdown.overhead
        return BudgetShares(
            system_prompt=system_prompt,
            tools=breakdown.tools,
            conversation=max(0, self.usable - system_prompt - breakdown.tools),
            reserve=self.reserve,
            available=self.available(breakdown.total),
            overflow=self.overflow(breakdown.total),
        )


def make_budget(
    window: int, max_output: int | None, settings: ContextSettings, total: int | None = None
) -> ContextBudget:
    """Returns the budget for an input window of `window` tokens.

    The reserve is the setting `reserve`, at most half the window. Without that setting it is `max_output` (8,192 if
    that is None), but no more than 20,000 tokens and no more than a quarter of the window. If input and output share a
    window of `total` tokens, this reserve is first taken from the part of `total` that the input window leaves free.

    Each threshold and the target are their settings' shares of the usable tokens; `settled` keeps them in order.
    Without the setting `keep_tail` the tail is a quarter of the usable tokens, from 2,000 to 20,000.
    """
    settings = settled(settings)
    if settings.reserve is not None:
        reserve = min(settings.reserve, window // 2)
    else:
        reserve = min(max_output or _DEFAULT_MAX_OUTPUT, _RESERVE_CAP, window // 4)
        reserve = max(0, reserve - ((total or window) - window))
    usable = window - reserve
    tail = int(max(_TAIL_MIN, min(_TAIL_MAX, usable * _TAIL_SHARE)))
    return ContextBudget(
        window=window,
        reserve=reserve,
        warn_at=int(usable * settings.warn_at),
        compact_at=int(usable * settings.compact_at),
        clear_at=int(usable * settings.clear_at),
        target=int(usable * settings.target),
        keep_tail=settings.keep_tail or tail,
    )
