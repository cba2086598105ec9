"""The circuit breaker: automatic compaction stops when it does not help.

Three failures in a row, or three refills (the threshold reached again within three answers after a compaction),
and it stays open until something is compacted by hand or the session is reopened. Three, because other products
settled on it; a fourth try has not been seen to help.
"""

from msgspec import Struct

_FAILURES = 3
_REFILLS = 3
_REFILL_TURNS = 3


class Breaker(Struct, frozen=True, kw_only=True):
    """What is remembered of past runs. `turns` counts the model's answers since the last compaction."""

    failures: int = 0
    refills: int = 0
    turns: int = _REFILL_TURNS

    @property
    def is_open(self) -> bool:
        """Whether automatic compaction is to stay off."""
        return self.failures >= _FAILURES or self.refills >= _REFILLS


def after_turn(breaker: Breaker) -> Breaker:
    """The model has answered once more."""
    return Breaker(failures=breaker.failures, refills=breaker.refills, turns=breaker.turns + 1)


def after_success(breaker: Breaker) -> Breaker:
    """An automatic compaction has helped; it counts as a refill if the last one is only a few turns old."""
    refills = breaker.refills + 1 if breaker.turns < _REFILL_TURNS else 0
    return Breaker(refills=refills, turns=0)


def after_failure(breaker: Breaker) -> Breaker:
    """An automatic compaction has failed or could not shrink the context."""
    return Breaker(failures=breaker.failures + 1, refills=breaker.refills, turns=breaker.turns)
