"""Confidence intervals of shares, by resampling. Deterministic: the same pairs give the same interval everywhere."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

Pair = tuple[int, int]
# Resampling fewer cuts shows more certainty than there is.
FEWEST = 5
# Enough that an interval's ends move by less than half a point from seed to seed.
DRAWS = 2_000
_SEED = 20_261
_LEFT_OUT = 0.025
_MASK = (1 << 64) - 1


class Interval(Struct, frozen=True, kw_only=True):
    """A figure with the ends of its 95 % confidence interval, which are null if there are fewer than five cuts."""

    value: float
    low: float | None
    high: float | None


def share(pairs: Sequence[Pair]) -> Interval | None:
    """Returns the share of the first numbers' sum in the second's, in percent. A pair is one cut, and the interval says
    how far the share may move with other cuts. Returns None if the second numbers sum to 0."""
    return _resampled(pairs, lambda chosen: _ratio([(100 * part, whole) for part, whole in chosen]))


def ratio(pairs: Sequence[Pair]) -> Interval | None:
    """Returns the first numbers' sum divided by the second's, as `share` does."""
    return _resampled(pairs, _ratio)


def _ratio(pairs: Sequence[Pair]) -> float | None:
    whole = sum(pair[1] for pair in pairs)
    return sum(pair[0] for pair in pairs) / whole if whole else None


def _resampled(pairs: Sequence[Pair], of: Callable[[Sequence[Pair]], float | None]) -> Interval | None:
    value = of(pairs)
    if value is None:
        return None
    if len(pairs) < FEWEST:
        return Interval(value=value, low=None, high=None)
    chance = _numbers(len(pairs))
    drawn = [of([pairs[next(chance)] for _ in pairs]) for _ in range(DRAWS)]
    # A sample whose cuts need nothing has no share.
    known = sorted(each for each in drawn if each is not None)
    cut = int(len(known) * _LEFT_OUT)
    return Interval(value=value, low=known[cut], high=known[-1 - cut])


def _numbers(below: int) -> Iterator[int]:
    """Yields pseudo-random numbers from 0 up to `below` (SplitMix64, Steele, Lea and Flood 2014)."""
    state = _SEED
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield (mixed ^ (mixed >> 31)) % below
