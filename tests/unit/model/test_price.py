"""The cost of requests, and of a session so far."""

from ullage.model.usage import Bill, Price, PriceTier, Usage

PRICE = Price((PriceTier(0, 2.0, 0.5, 4.0, 10.0), PriceTier(1_000, 3.0, 1.0, 6.0, 20.0)))


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(
        input_tokens=100,
        cache_read_input_tokens=200,
        cache_creation_input_tokens=300,
        output_tokens=400,
        reasoning_tokens=50,
    )
    assert PRICE.cost(usage) == (100 * 2.0 + 200 * 0.5 + 300 * 4.0 + 400 * 10.0) / 1_000_000


def test_what_the_cache_keeps_for_an_hour_costs_twice_the_input() -> None:
    usage = Usage(cache_creation_input_tokens=300, cache_creation_1h_input_tokens=200)
    assert PRICE.cost(usage) == (100 * 4.0 + 200 * 2.0 * 2) / 1_000_000


def test_a_tier_begins_above_its_threshold() -> None:
    assert PRICE.cost(Usage(input_tokens=1_000)) == 0.002
    assert PRICE.cost(Usage(input_tokens=1_001)) == 1_001 * 3.0 / 1_000_000
    assert PRICE.cost(Usage(output_tokens=10)) == 0.0001


def test_a_better_report_of_the_last_answer_replaces_the_first() -> None:
    bill = Bill().charge("m_1", 1.0).charge("m_2", 0.5).charge("m_2", 0.75)
    assert bill.amount == 1.75


def test_one_unknown_price_makes_the_sum_unknown_for_good() -> None:
    assert Bill().charge("m_1", 1.0).charge("m_2", None).charge("m_3", 1.0).amount is None


def test_a_request_without_an_answer_adds_to_the_sum_and_leaves_the_last_answer_replaceable() -> None:
    assert Bill().charge("m_1", 1.0).add(0.5).charge("m_1", 2.0).amount == 2.5
    assert Bill().add(0.5).add(None).add(0.5).amount is None
