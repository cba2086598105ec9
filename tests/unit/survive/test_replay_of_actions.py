"""The replay of recorded actions: what they need from before a cut, which can go ahead, and what the others cost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.build import assistant, results, user, uses
from ullage.model.message import Message
from ullage.survive.actions import HORIZON, Recorded, recorded_actions
from ullage.survive.fact import Kind
from ullage.survive.replaying import Outcome, replay
from ullage.survive.said import context_text
from ullage.tokens.counter_choice import get_counter

COUNTER = get_counter("gpt-4o")
PRICES = "PRICE_TABLE = {}\ndef round_price(total): ..."
HEAD: tuple[Message, ...] = (
    user("u1", "Prices are wrong. Never change src/shop/api.py."),
    uses("a1", "t1", name="Read", file_path="/home/me/shop/src/shop/prices.py"),
    results("r1", "t1", text=PRICES),
    uses("a2", "t2", name="Bash", command="npm run check:prices -- --all | tail -20"),
    results("r2", "t2", text="ValueError: rounding of 4711 failed\nexit code: 1"),
)
NAMES = ("src/shop/prices.py", "shop/prices.py", "round_price", "npm run check:prices", "PRICE_TABLE", "4711", "other")


def recorded(*after: Message, head: Sequence[Message] = HEAD) -> Recorded:
    messages = (*head, *after)
    return recorded_actions(messages, len(head), len(messages), COUNTER)


def needed(found: Recorded) -> list[list[str]]:
    return [[need.fact.text for need in needs] for needs in found.actions]


def played(found: Recorded, *texts: str) -> Outcome:
    return replay(found, texts, 0)


EDIT = uses("b1", "x1", name="Edit", file_path="src/shop/prices.py", old_string="old_name", new_string="round_price(1)")
CHECK = uses("b2", "x2", name="Bash", command="npm run check:prices")
NOTE = uses("b3", "x3", name="Write", file_path="docs/new.md", content="The total was 4711, see PRICE_TABLE.")
ACTED = (EDIT, results("c1", "x1"), CHECK, results("c2", "x2"), NOTE, results("c3", "x3"))


def test_an_action_needs_the_paths_names_commands_and_numbers_of_its_input_that_were_known() -> None:
    found = recorded(*ACTED)
    assert needed(found) == [["shop/prices.py", "round_price"], ["npm run check:prices"], ["4711", "PRICE_TABLE"]]
    kinds = [need.fact.kind for need in found.needs]
    assert kinds == [Kind.PATH, Kind.NAME, Kind.COMMAND, Kind.NUMBER, Kind.NAME]


def test_what_an_action_brings_up_by_itself_is_not_needed() -> None:
    found = recorded(uses("b", "x", name="Write", file_path="src/brand/new_file.py", content="fresh_name = 12345"))
    assert (found.actions, found.free) == ((), 1)


def test_what_the_user_or_a_result_has_shown_since_is_not_needed() -> None:
    asked = recorded(user("u", "Run npm run check:prices, it named 4711 and PRICE_TABLE."), CHECK, NOTE)
    assert needed(asked) == []
    ran = uses("b", "x", name="Bash", command="make report")
    assert needed(recorded(ran, results("c", "x", text="PRICE_TABLE is 4711"), NOTE)) == []


def test_what_a_look_again_shows_is_needed_all_the_same_and_was_looked_at_again() -> None:
    look = uses("b0", "x0", name="Read", file_path="src/shop/prices.py")
    found = recorded(look, results("c0", "x0", text=PRICES), *ACTED)
    assert found.looks_again == 1
    assert found.look_tokens > 0
    again = {need.fact.text: need.looked_again for need in found.needs}
    assert again["round_price"]
    assert not again["npm run check:prices"]
    assert needed(found) == needed(recorded(*ACTED))


def test_a_look_at_something_new_is_an_action_and_gives_what_it_shows() -> None:
    look = uses("b0", "x0", name="Read", file_path="src/shop/totals.py")
    found = recorded(look, results("c0", "x0", text=PRICES), EDIT)
    assert found.looks_again == 0
    assert needed(found) == [["shop/prices.py"]]


def test_text_that_an_edit_replaces_is_not_needed() -> None:
    edit = uses("b", "x", name="Edit", file_path="src/new/file.py", old_string="round_price", new_string="fresh_name")
    assert needed(recorded(edit)) == []


def test_a_fact_is_needed_once() -> None:
    again = uses("b9", "x9", name="Bash", command="npm run check:prices")
    assert needed(recorded(CHECK, results("c2", "x2"), again)) == [["npm run check:prices"]]


def test_no_more_actions_are_replayed_than_the_horizon() -> None:
    many = [uses(f"b{i}", f"x{i}", name="Bash", command=f"make part{i}") for i in range(HORIZON + 5)]
    found = recorded(*many)
    assert len(found.actions) + found.free == HORIZON


def test_plans_and_thoughts_are_no_actions() -> None:
    assert recorded(uses("b", "x", name="think", thought="round_price")).free == 0


def test_everything_carried_lets_every_action_go_ahead_and_nothing_none() -> None:
    found = recorded(*ACTED)
    everything, nothing = played(found, context_text(HEAD)), played(found)
    assert (everything.unblocked, everything.carried, everything.lookups, everything.tokens) == (3, 5, 0, 0)
    assert (nothing.unblocked, nothing.carried) == (0, 0)
    assert nothing.lookups > 0


def test_an_action_goes_ahead_only_if_all_that_it_needs_was_carried() -> None:
    found = recorded(*ACTED)
    assert played(found, "shop/prices.py").unblocked == 0
    assert played(found, "in /elsewhere/src/shop/prices.py fix round_price").unblocked == 1


@pytest.mark.parametrize("text", ["npm run check:prices2", "round_prices", "14711", "PRICE_TABLES"])
def test_a_fact_within_a_longer_word_is_not_carried(text: str) -> None:
    assert played(recorded(*ACTED), text).carried == 0


def test_a_missing_fact_costs_the_cheapest_look_up_that_had_shown_it_and_each_look_up_once() -> None:
    found = recorded(*ACTED)
    read = COUNTER.count(f"/home/me/shop/src/shop/prices.py\n{PRICES}")
    without_names = played(found, "shop/prices.py npm run check:prices 4711")
    assert (without_names.lookups, without_names.tokens) == (1, read)
    assert played(found, "round_price PRICE_TABLE").unknown == 3


@given(st.lists(st.sampled_from(NAMES)), st.lists(st.sampled_from(NAMES)))
def test_more_carried_never_unblocks_less_nor_costs_more(some: list[str], more: list[str]) -> None:
    found = recorded(*ACTED)
    less, greater = played(found, *some), played(found, *some, *more)
    assert greater.unblocked >= less.unblocked
    assert greater.carried >= less.carried
    assert greater.tokens <= less.tokens
    assert greater.lookups <= less.lookups
    assert greater.unknown <= less.unknown


def test_a_reply_without_calls_is_no_action() -> None:
    assert recorded(assistant("b", "round_price is fixed.")).actions == ()
