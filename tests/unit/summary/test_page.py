"""A page: which sections are filled first, and that it never exceeds its room."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from support.counting import LengthCounter
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.page import Page

COUNTER = LengthCounter()
NAMES = tuple(f"name_{number}" for number in range(12))
# The first name weighs nothing, so a page leaves it out.
WEIGHTS = {name: float(number) for number, name in enumerate(NAMES)}


def entry(names: tuple[str, ...], index: int, section: Section) -> Item:
    group = "src/app.py" if section is Section.DETAILS else ""
    return Item(section=section, text=" ".join(names), index=index, anchors=names, group=group)


items = st.builds(
    entry,
    st.lists(st.sampled_from(NAMES[1:]), min_size=1, max_size=4).map(tuple),
    st.integers(0, 9),
    st.sampled_from([Section.FINDINGS, Section.DETAILS, Section.ERRORS]),
)


def page(room: int = 1_000) -> Page:
    return Page(room, WEIGHTS, COUNTER)


def finding(name: str, value: float = 0.0) -> Item:
    return Item(section=Section.FINDINGS, text=f"about {name}", index=1, anchors=(name,), value=value)


def texts(page: Page) -> list[str]:
    return [item.text for item in page.items]


def test_the_heaviest_name_per_token_comes_first() -> None:
    filled = page()
    filled.fill([finding("name_1"), finding("name_11"), finding("name_5")], 1_000)
    assert texts(filled) == ["about name_11", "about name_5", "about name_1"]


def test_a_name_that_stands_on_the_page_makes_room_for_another() -> None:
    again = Item(section=Section.FINDINGS, text="more on name_11", index=2, anchors=("name_11",))
    filled = page()
    filled.fill([finding("name_11"), again, finding("name_2")], 1_000)
    assert texts(filled) == ["about name_11", "about name_2"]


def test_a_covered_name_gives_way_to_one_that_is_not_covered() -> None:
    filled = page()
    filled.cover(["name_11"])
    filled.fill([finding("name_11"), finding("name_2")], 1_000)
    assert texts(filled) == ["about name_2"]


def test_text_that_says_something_itself_goes_on_the_page_without_a_new_name() -> None:
    filled = page()
    filled.cover(["name_11"])
    filled.fill([finding("name_11", value=0.1)], 1_000)
    assert texts(filled) == ["about name_11"]


def test_what_is_worth_nothing_does_not_go_on_the_page() -> None:
    filled = page()
    filled.fill([finding("name_0")], 1_000)
    assert texts(filled) == []


def test_items_are_placed_in_their_order_up_to_the_first_that_does_not_fit() -> None:
    filled = page()
    long = Item(section=Section.TASK, text="long " * 200)
    filled.place([finding("name_1"), long, finding("name_2")], 50)
    assert texts(filled) == ["about name_1"]


def test_the_same_text_is_written_once() -> None:
    filled = page()
    filled.place([finding("name_3"), finding("name_3")], 1_000)
    filled.fill([finding("name_3")], 1_000)
    assert texts(filled) == ["about name_3"]


def test_taking_back_the_last_item_leaves_the_others() -> None:
    filled = page()
    filled.place([finding("name_1"), finding("name_2")], 1_000)
    filled.remove_last()
    assert texts(filled) == ["about name_1"]


def test_a_line_is_quoted_once() -> None:
    long = Item(section=Section.DETAILS, text="name_11\nname_10", group="a.py", anchors=("name_11", "name_10"))
    part = Item(section=Section.DETAILS, text="name_10\nname_9", order=1, group="a.py", anchors=("name_10", "name_9"))
    filled = page()
    filled.fill([long, part], 1_000)
    assert texts(filled) == ["name_11\nname_10"]


class Surroundings:
    """What is around items, by their texts."""

    def __init__(self, beside: dict[str, Item], instead: dict[str, Item]) -> None:
        self._beside = beside
        self._instead = instead

    def __call__(self, item: Item) -> list[Item]:
        return [self._beside[item.text]] if item.text in self._beside else []

    def instead(self, item: Item, worth: Mapping[str, float]) -> Item | None:
        assert any(worth[name] < WEIGHTS[name] for name in item.anchors)
        return self._instead.pop(item.text, None)


def test_what_is_beside_an_item_competes_once_the_item_is_on_the_page() -> None:
    around = Surroundings({"about name_11": finding("name_8"), "about name_8": finding("name_3")}, {})
    filled = page()
    found = [finding("name_11"), finding("name_5")]
    filled.fill_from(filled.rank(found, around), 1_000)
    assert texts(filled) == ["about name_11", "about name_8", "about name_5", "about name_3"]


def test_what_comes_in_place_of_an_item_competes_once_the_item_lost_worth() -> None:
    again = Item(section=Section.FINDINGS, text="more on name_11", index=2, anchors=("name_11",))
    filled = page()
    ranking = filled.rank([finding("name_11"), again], Surroundings({}, {again.text: finding("name_2")}))
    filled.fill_from(ranking, 1_000)
    assert texts(filled) == ["about name_11", "about name_2"]


def test_what_found_no_room_is_tried_again_when_there_is_more() -> None:
    filled = page()
    ranking = filled.rank([finding("name_11"), finding("name_5")])
    filled.fill_from(ranking, filled.cost_of(finding("name_11")) + filled.cost(Section.FINDINGS))
    assert texts(filled) == ["about name_11"]
    filled.fill_from(ranking, 1_000)
    assert texts(filled) == ["about name_11", "about name_5"]


@settings(deadline=None)
@given(st.lists(items, max_size=20), st.integers(0, 200), st.integers(0, 200))
def test_a_page_takes_at_most_the_share_it_was_given(found: list[Item], room: int, share: int) -> None:
    filled = page(room)
    filled.fill(found, share)
    assert filled.used <= min(room, share)
    filled.settle()
    # A line break between sections may have a token of its own.
    assert filled.used <= min(room, share) + len(filled.sections())


@settings(deadline=None)
@given(st.lists(items, max_size=20), st.integers(0, 200), st.integers(0, 200))
def test_more_room_never_covers_fewer_names_of_an_empty_page(found: list[Item], room: int, more: int) -> None:
    small, large = page(room), page(room + 10_000 + more)
    small.fill(found, room)
    large.fill(found, large.room)
    assert small.covered <= large.covered
