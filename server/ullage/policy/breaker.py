"""The circuit breaker: automatic compaction stops when it does not help.

The breaker opens after three failures in a row, or after three refills in a row. A refill means that the context
reaches the threshold again within three answers after a compaction. The limit is three because other products settled
on it; a fourth try has not been seen to help.

The breaker closes when the user compacts by hand, when the session is opened again, or after three answers in a row
that leave the context below the warning threshold.
"""

from msgspec import Struct

from ullage.policy.budget import ContextBudget

_FAILURES = 3
_REFILLS = 3
_REFILL_TURNS = 3
_CALM_TURNS = 3


class Breaker(Struct, frozen=True, kw_only=True):
    """What is remembered of past automatic compactions. `failures` counts those that failed, and `refills` those that
    helped only for fewer than three answers, both in a row. `turns` counts the model's answers since the last automatic
    compaction that helped. `calm` counts the last answers in a row that left the context below the warning threshold.
    """

    failures: int = 0
    refills: int = 0
    turns: int = _REFILL_TURNS
    calm: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the breaker has stopped automatic compaction: after three failures or three refills in a row."""
        return self.failures >= _FAILURES or self.refills >= _REFILLS


def after_turn(breaker: Breaker, used: int, budget: ContextBudget) -> Breaker:
    """Returns the breaker after one more answer of the model, with `used` tokens in the context. Three answers in a row
    below the warning threshold close an open breaker."""
    calm = breaker.calm + 1 if used < budget.warn_at else 0
    if breaker.is_open and calm >= _CALM_TURNS:
        return Breaker()
    return Breaker(failures=breaker.failures, refills=breaker.refills, turns=breaker.turns + 1, calm=calm)


def after_success(breaker: Breaker) -> Breaker:
    """Returns the breaker after an automatic compaction that helped, with no failures. The compaction adds a refill if
    fewer than three answers came since the one before; otherwise refills are 0 again."""
    refills = breaker.refills + 1 if breaker.turns < _REFILL_TURNS else 0
    return Breaker(refills=refills, turns=0)


def after_failure(breaker: Breaker) -> Breaker:
    """Returns the breaker with one more failure, after an automatic compaction that failed or could not make the
    context smaller."""
    return Breaker(failures=breaker.failures + 1, refills=breaker.refills, turns=breaker.turns)


def why(breaker: Breaker) -> str:
    """Returns the reason why an open breaker opened, as the end of a sentence that begins with "it": `failed 3 times in
    a row`."""
    if breaker.refills >= _REFILLS:
        return f"filled up again {_REFILLS} times within {_REFILL_TURNS} answers"
    return f"failed {_FAILURES} times in a row"
