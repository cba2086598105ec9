"""How many calls are left: a range from recent growth, on made-up series whose answer is known."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.model.figure import CallsLeft
from ullage.policy.alarm import calls_left, mean_growth

growths = st.lists(st.integers(1, 50_000), min_size=5, max_size=20).map(tuple)


def test_fewer_than_five_calls_say_nothing() -> None:
    assert calls_left(10_000, (500, 500, 500, 500)) is None


def test_at_the_threshold_no_call_is_left() -> None:
    assert calls_left(0, (500,) * 5) == CallsLeft(low=0, mean=0, high=0)


def test_the_range_holds_the_number_that_even_growth_leads_to() -> None:
    left = calls_left(50_000, (1_000,) * 12)
    assert left is not None
    assert left.low < 50 < left.high


def test_a_few_small_calls_promise_no_long_way() -> None:
    assert mean_growth((100,) * 5) > 500


def test_large_calls_bring_the_compaction_nearer() -> None:
    small, large = calls_left(100_000, (500,) * 12), calls_left(100_000, (8_000,) * 12)
    assert small is not None
    assert large is not None
    assert large.high < small.mean


def test_a_large_call_among_small_ones_widens_the_range() -> None:
    even, uneven = calls_left(20_000, (1_000,) * 10), calls_left(20_000, (*(100,) * 9, 9_100))
    assert even is not None
    assert uneven is not None
    assert uneven.mean == even.mean
    assert uneven.low < even.low
    assert uneven.high > even.high


@given(st.integers(0, 1_000_000), growths)
def test_the_mean_lies_in_the_range_and_a_longer_way_takes_no_fewer_calls(left: int, grown: tuple[int, ...]) -> None:
    near, far = (calls_left(distance, grown) for distance in (left, left + 5_000))
    assert near is not None
    assert far is not None
    assert 0 <= near.low <= near.mean <= near.high
    assert far.mean >= near.mean
    assert far.high >= near.high
    assert (near.high == 0) == (left == 0)
