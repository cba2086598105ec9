"""When to warn that an agent will compact its context: near enough to be true, and at least one call ahead."""

from collections.abc import Sequence

from ullage.policy.forecast import mean_growth

# Calls of the mean growth, and the share of the threshold: the larger of both is the distance of the warning. Of 69
# recorded compactions of Claude Code 67 were warned of at least one call ahead; the other two followed a single step of
# 19,000 and 35,000 tokens.
_CALLS, _SHARE = 5, 0.05


def warns_at(threshold: int, growths: Sequence[int], earliest: int) -> int:
    """Returns the tokens from which on to warn that the agent compacts at `threshold`. `growths` are the tokens that
    recent calls added, oldest first. The result is at least `earliest` and at most `threshold`."""
    distance = max(_CALLS * mean_growth(growths), _SHARE * threshold)
    return min(threshold, max(earliest, threshold - int(distance)))
