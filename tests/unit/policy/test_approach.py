"""How near a compaction is, by the share of its threshold and the calls that are left."""

import pytest

from ullage.model.usage import Nearness
from ullage.policy.budget import nearness

FAR, NEAR, IMMINENT = Nearness.FAR, Nearness.NEAR, Nearness.IMMINENT


@pytest.mark.parametrize(
    ("used", "calls", "expected"),
    [
        (92_000, 20, FAR),
        (126_000, 9, FAR),
        (126_000, 8, NEAR),
        (126_000, 2, IMMINENT),
        (120_000, 2, NEAR),
        (22_000, 2, FAR),
        (167_000, 20, IMMINENT),
        (140_000, None, FAR),
        (152_000, None, NEAR),
        (163_000, None, IMMINENT),
    ],
)
def test_a_compaction_is_near_by_the_share_and_by_the_calls_that_are_left(
    used: int, calls: int | None, expected: Nearness
) -> None:
    assert nearness(used, 167_000, calls) is expected
