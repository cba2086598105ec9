"""How often a follower looks for conversations that begin."""

import pytest

from ullage.service.follow.agent_follower import search_pause


@pytest.mark.parametrize(("took", "pause"), [(0.0, 2.0), (0.004, 2.0), (0.01, 4.0), (0.5, 15.0), (60.0, 15.0)])
def test_searches_take_a_share_of_a_processor_and_a_slow_one_does_not_end_them(took: float, pause: float) -> None:
    assert search_pause(took) == pause
