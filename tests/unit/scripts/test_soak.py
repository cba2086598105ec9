"""The soak's growth and picture."""

import re
from itertools import pairwise

from benches.soak import Sample, draw, slope


def samples(*sizes: float) -> list[Sample]:
    return [Sample(at=10.0 * number, memory=size, files=3) for number, size in enumerate(sizes)]


def test_growth_is_that_of_the_straight_line_through_the_samples() -> None:
    assert slope(samples(100, 101, 102, 103)) == 0.1
    assert slope(samples(100, 100, 100)) == 0
    assert slope(samples(100)) == 0


def test_a_single_peak_is_no_growth() -> None:
    assert abs(slope(samples(100, 100, 140, 100, 100))) < 1e-9


def test_the_picture_has_a_curve_for_each_process() -> None:
    picture = draw({"server": samples(100, 120), "watch": samples(50, 50)})
    assert picture.count("<polyline") == 2
    assert ">server</text>" in picture
    assert ">132 MB</text>" in picture


def test_the_names_of_two_curves_that_end_at_one_place_are_apart() -> None:
    picture = draw({"proxy": samples(90, 100), "watch": samples(90, 101), "mcp": samples(90, 101)})
    places = sorted(int(place) for place in re.findall(r'y="(\d+)" fill="#\w+">\w+<', picture))
    assert len(places) == 3 and all(after - before >= 14 for before, after in pairwise(places))
