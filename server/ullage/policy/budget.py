"""The context budget: what of a window can be used, and where the thresholds lie (DESIGN §5)."""

from msgspec import Struct

from ullage.model.settings import ContextSettings
from ullage.model.usage import Breakdown, BudgetShares

# Room for an answer: what coding agents' answers rarely exceed. Reserving all of a 64k output limit would make
# thresholds fire near half of a 128k window, a known complaint about other products.
_RESERVE_CAP = 20_000
# Used where the catalog knows no output limit; the smallest limit among current chat models is 4,096.
_DEFAULT_MAX_OUTPUT = 8_192
_TAIL_SHARE, _TAIL_MIN, _TAIL_MAX = 0.25, 2_000, 20_000


class ContextBudget(Struct, frozen=True, kw_only=True):
    """Tokens: the model's input window, what is reserved for the answer, and the thresholds on the rest."""

    window: int
    reserve: int
    warn_at: int
    compact_at: int
    clear_at: int
    target: int
    keep_tail: int

    @property
    def usable(self) -> int:
        """Tokens the prompt may take."""
        return self.window - self.reserve

    def overflow(self, used: int) -> int:
        """Tokens beyond the usable part; 0 when it fits."""
        return max(0, used - self.usable)

    def available(self, used: int) -> int:
        """Tokens still free in the usable part."""
        return max(0, self.usable - used)

    def shares(self, breakdown: Breakdown) -> BudgetShares:
        """The window shared out for a context made of these parts. Where they leave the conversation nothing, its share
        is 0 and the prompt's and the tools' are more than the window has."""
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
    """The budget for an input window. Where output shares the window (`total`), its reserve comes from what is
    left of `total` beyond the input window first. A reserve set too large is cut to half of the window.
    """
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
