"""The context budget: how much of a window can be used, where the thresholds lie, and which limits of the user's own a
conversation has passed, whatever the window.
"""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.settings import ContextSettings, Limit, settled
from ullage.model.usage import Breakdown, BudgetShares, Remark, RemarkKind
from ullage.model.words import dollars

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


def passed(limits: Sequence[Limit], agent: str, cwd: str, used: int, cost: float | None) -> tuple[Remark, ...]:
    """Returns a remark for each limit that a conversation has passed: of the tokens in its context, `used`, and of
    what it has cost in US dollars, None if that is not known. `agent` is the name of the agent that has it, and `cwd`
    its folder. Of several limits that fit, the one for the innermost folder counts, then one for the agent, then
    the last."""
    fitting = sorted(
        (limit for limit in limits if _fits(limit, agent, cwd)), key=lambda one: (len(one.folder), one.agent != "")
    )
    tokens = next((limit.tokens for limit in reversed(fitting) if limit.tokens is not None), None)
    most = next((limit.cost for limit in reversed(fitting) if limit.cost is not None), None)
    remarks: list[Remark] = []
    if tokens is not None and used >= tokens:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has passed your own limit of {tokens:,} tokens."))
    if most is not None and cost is not None and cost >= most:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has cost more than your own limit of {dollars(most)}."))
    return tuple(remarks)


def _fits(limit: Limit, agent: str, cwd: str) -> bool:
    folder, place = _path(limit.folder), _path(cwd)
    is_there = not folder or place == folder or place.startswith(f"{folder}/")
    return is_there and (not limit.agent or _word(limit.agent) == _word(agent))


def _path(text: str) -> str:
    return text.replace("\\", "/").rstrip("/")


def _word(name: str) -> str:
    return name.lower().replace(" ", "-")
