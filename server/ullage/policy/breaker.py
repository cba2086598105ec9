"""The circuit breaker: automatic compaction stops when it does not help.

Three failures in a row, or three refills (the threshold reached again within three answers after a compaction), and it
opens. Three, because other products settled on it; a fourth try has not been seen to help. It closes when something is
compacted by hand, when the session is opened anew, or when three answers in a row found the context below the warning:
then whatever filled it again and again has ended.
"""

from msgspec import Struct

from ullage.policy.budget import ContextBudget

_FAILURES = 3
_REFILLS = 3
_REFILL_TURNS = 3
_CALM_TURNS = 3


class Breaker(Struct, frozen=True, kw_only=True):
    """What is remembered of past runs. `turns` counts the model's answers since the last compaction, `calm` those in a
    row that left the context below the warning."""

    failures: int = 0
    refills: int = 0
    turns: int = _REFILL_TURNS
    calm: int = 0

    @property
    def is_open(self) -> bool:
        """Whether automatic compaction is to stay off."""
        return self.failures >= _FAILURES or self.refills >= _REFILLS


def after_turn(breaker: Breaker, used: int, budget: ContextBudget) -> Breaker:
    """The model has answered once more, and the context counts `used` tokens."""
    calm = breaker.calm + 1 if used < budget.warn_at else 0
    if breaker.is_open and calm >= _CALM_TURNS:
        return Breaker()
    return Breaker(failures=breaker.failures, refills=breaker.refills, turns=breaker.turns + 1, calm=calm)


def after_success(breaker: Breaker) -> Breaker:
    """An automatic compaction has helped; it counts as a refill if the last one is only a few turns old."""
    refills = breaker.refills + 1 if breaker.turns < _REFILL_TURNS else 0
    return Breaker(refills=refills, turns=0)


def after_failure(breaker: Breaker) -> Breaker:
    """An automatic compaction has failed or could not shrink the context."""
    return Breaker(failures=breaker.failures + 1, refills=breaker.refills, turns=breaker.turns)


def why(breaker: Breaker) -> str:
    """What opened it, as the end of a sentence that begins "it"."""
    if breaker.refills >= _REFILLS:
        return f"filled up again {_REFILLS} times within {_REFILL_TURNS} answers"
    return f"failed {_FAILURES} times in a row"
