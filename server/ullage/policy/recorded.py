"""What recorded compactions of an agent say of its threshold, without a rule.

Each compaction gives two bounds: the threshold is at most the context before it, and it is larger than the context with
which the agent made its last call before. Several of them together narrow it down.
"""

from collections.abc import Sequence

from ullage.policy.evidence import Compacted

# Of 73 recorded compactions of Claude Code the highest lay 14 % above the threshold.
ABOVE = 1.15
_BELOW = 0.99
# A call was made with a context this much larger than a supposed threshold: the supposition is wrong. Agents compare
# their own estimate, which differs a little from the reported figure.
_BEYOND = 1.01
# A compaction this close to the end of the window was forced by the provider, and shows no threshold.
_FORCED = 0.975


def is_forced(one: Compacted, window: int) -> bool:
    """Returns whether the provider must have forced the compaction: it came at the end of the window."""
    return one.tokens >= window * _FORCED


def lies_above(tokens: int, threshold: int) -> bool:
    """Returns whether a context of `tokens` is clearly larger than `threshold`."""
    return tokens > threshold * _BEYOND


def agreeing(seen: Sequence[Compacted], supposed: int | None = None) -> list[Compacted]:
    """Returns the last compactions that agree on one threshold, the newest first: one that lies between their bounds,
    or `supposed`, for as long as it does for the newest of them. None of them follows a change of the threshold."""
    run: list[Compacted] = []
    for one in reversed(seen):
        if run and not _together([*run, one], supposed if _fits(run, supposed) else None):
            break
        run.append(one)
    return run


def estimated(run: Sequence[Compacted], beyond: int = 0) -> int:
    """Returns the threshold that lies between the bounds of these compactions, which is not empty: the roundest number
    there, because thresholds are chosen so. `beyond` is a further lower bound. If the bounds contradict each other,
    returns the smallest context that was compacted."""
    high = min(one.tokens for one in run)
    low = max(beyond, *(one.beyond for one in run))
    if not high * _BELOW < low < high:
        return high
    step = 1
    while (high // (step * 10)) * step * 10 > low:
        step *= 10
    for part in (5, 2, 1):
        if (number := high // (step * part) * step * part) > low:
            return number
    return high


def _fits(run: Sequence[Compacted], supposed: int | None) -> bool:
    return supposed is not None and _together(run, supposed)


def _together(run: Sequence[Compacted], supposed: int | None) -> bool:
    """Returns whether one threshold explains these compactions: `supposed`, or else the smallest of them."""
    lowest = min(one.tokens for one in run)
    if supposed is not None:
        return all(
            supposed * _BELOW <= one.tokens <= supposed * ABOVE and not lies_above(one.beyond, supposed) for one in run
        )
    return all(one.tokens <= lowest * ABOVE and not lies_above(one.beyond, lowest) for one in run)
