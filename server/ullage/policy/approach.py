"""How near an agent's compaction of its context is, and when to warn of it: near enough to be true, and at least one
call ahead."""

from collections.abc import Sequence

from ullage.model.figure import Nearness
from ullage.policy.forecast import mean_growth

# Calls of the mean growth, and the share of the threshold: the larger of both is the distance of the warning. Of 23
# recorded compactions of Claude Code 22 were warned of at least one call ahead. The other one came after a result of
# 35,000 tokens, of which the count alone doesn't warn (`alarm.sure`).
_CALLS, _SHARE = 5, 0.05


def warns_at(threshold: int, growths: Sequence[int], earliest: int) -> int:
    """Returns the tokens from which on to warn that the agent compacts at `threshold`. `growths` are the tokens that
    recent calls added, oldest first. The result is at least `earliest` and at most `threshold`."""
    distance = max(_CALLS * mean_growth(growths), _SHARE * threshold)
    return min(threshold, max(earliest, threshold - int(distance)))


# The fewest calls left from which a compaction is imminent, or near. A user who is warned two calls ahead has one call
# to act in.
_IMMINENT_CALLS, _NEAR_CALLS = 2, 8
# The calls count from these shares of the threshold on. Before, only a step of a rare size would be enough.
_IMMINENT_FROM, _NEAR_FROM = 0.75, 0.6
# The shares that count if the calls left are not known.
_IMMINENT_SHARE, _NEAR_SHARE = 0.97, 0.9


def nearness(used: int, limit: int, calls: int | None) -> Nearness:
    """Returns how near `limit` is: the threshold of the compaction in tokens, or without a compaction the end of the
    window. `calls` are the fewest calls of the model that are likely to be left, None if that is not known."""
    share = used / limit

    def reaches(most: int, start: float, otherwise: float) -> bool:
        if share >= 1:
            return True
        return share >= otherwise if calls is None else calls <= most and share >= start

    if reaches(_IMMINENT_CALLS, _IMMINENT_FROM, _IMMINENT_SHARE):
        return Nearness.IMMINENT
    return Nearness.NEAR if reaches(_NEAR_CALLS, _NEAR_FROM, _NEAR_SHARE) else Nearness.FAR
