"""What a usage report says: the pass that filled the window, whether it can be true, and what is paid for."""

import subprocess
import sys
from typing import Any

import pytest

from ullage.model.usage import Bill, Price, PriceTier, Usage
from ullage.model.usage_report import (
    billed_passes,
    cache_writes,
    can_be_true,
    confirms,
    context_of,
    count_of,
    filling_pass,
    holding_window,
    input_counts,
    is_doubtful,
)

OWN = {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 30_000, "output_tokens": 40}
LAST = {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 31_000, "output_tokens": 60}
ADVISER = {"type": "advisor_message", "model": "other", "input_tokens": 50_000, "output_tokens": 9}
SUM = {"input_tokens": 4, "cache_read_input_tokens": 61_000, "output_tokens": 100}


@pytest.mark.parametrize(
    ("passes", "context"),
    [
        ([OWN, LAST], 31_062),
        ([OWN, ADVISER, LAST], 31_062),
        ([OWN, LAST, ADVISER], 31_062),
        ([{"type": "compaction", "input_tokens": 180_000}, LAST], 31_062),
        ([OWN, LAST | {"type": "fallback_message"}], 31_062),
        ([OWN, {"type": "message", "output_tokens": 5}], 30_042),
        ([{"input_tokens": 2}, {"input_tokens": 30_000, "output_tokens": 1}], 30_001),
        ([ADVISER], 61_104),
        ([], 61_104),
        (None, 61_104),
        ("two", 61_104),
        ([1, None, [OWN]], 61_104),
    ],
)
def test_the_context_is_that_of_the_last_pass_of_the_answers_own_model(passes: Any, context: int) -> None:
    assert context_of(SUM | {"iterations": passes}) == context


def test_every_pass_is_paid_for_at_its_own_models_price() -> None:
    assert billed_passes(SUM | {"iterations": [OWN, ADVISER, LAST]}) == [("", OWN), ("other", ADVISER), ("", LAST)]
    assert billed_passes(SUM) == []
    assert filling_pass(SUM) is SUM


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"output_tokens": 420},
        {"input_tokens": 0, "output_tokens": 3},
        {"input_tokens": "many"},
        {"input_tokens": 10**9},
    ],
)
def test_a_report_without_a_prompt_says_nothing(usage: dict[str, Any]) -> None:
    assert context_of(usage) is None


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("30000", 30_000),
        ("-1", 0),
        ("", 0),
        ("3e4", 0),
        ("\u0663", 3),
        ("9" * 17, 0),
        (3e4, 30_000),
        (True, 0),
        (2**64, 0),
    ],
)
def test_a_count_may_be_written_as_text(value: Any, count: int) -> None:
    assert count_of(value) == count


def test_detailed_counts_of_the_cache_are_the_prompts_too_if_their_sum_is_missing() -> None:
    detailed = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 4_800}
    assert context_of({"input_tokens": 10, "cache_creation": detailed}) == 5_010
    assert cache_writes({"cache_creation": detailed}) == (5_000, 4_800)
    assert cache_writes({"cache_creation": detailed | {"ephemeral_24h_input_tokens": 7}}) == (5_007, 4_800)
    assert cache_writes({"cache_creation": detailed, "cache_creation_input_tokens": 6_000}) == (6_000, 4_800)
    assert cache_writes({"cache_creation": detailed, "cache_creation_input_tokens": 100}) == (100, 100)


def test_lines_of_other_answers_have_other_input_counts() -> None:
    one = {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 1}
    assert input_counts(one) == input_counts(one | {"output_tokens": 80})
    assert input_counts(one) != input_counts(one | {"cache_read_input_tokens": 901})
    assert not any(input_counts(None))


@pytest.mark.parametrize(
    ("prompt", "counted", "true"),
    [(12, 11_700, False), (100, 24_000, False), (6_000, 14_000, False), (9_000, 14_000, True), (12, 1_900, True)],
)
def test_a_prompt_far_below_what_is_visible_cannot_be_true(prompt: int, counted: int, true: bool) -> None:
    assert can_be_true(prompt, counted) is true


def test_a_small_report_is_confirmed_by_one_that_grew_as_the_messages_did() -> None:
    assert confirms(900, 1_000)
    assert not confirms(0, 1_000)
    assert not confirms(40, 1_000)
    assert not confirms(10_000, 1_000)
    assert not confirms(3, 3)


def test_no_context_fills_more_than_its_window() -> None:
    assert holding_window(150_000, 200_000, (1_000_000,)) == 200_000
    assert holding_window(573_100, 200_000, (1_000_000,)) == 1_000_000
    assert holding_window(1_200_000, 200_000, (1_000_000,)) == 1_200_000
    assert holding_window(300_000, 200_000, ()) == 300_000


def test_the_status_line_reads_reports_without_msgspec() -> None:
    code = "import sys; import ullage.cli.statusline.line; sys.exit('msgspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("prompt", "size", "is_doubted"),
    [
        (12, 0, False),
        # Small, and true beside a small text.
        (900, 3_000, False),
        (900, 9_000, True),
        (12, 6_030, False),
        (12, 6_040, True),
        # What a gateway may state for each request.
        (4_096, 96_000, True),
        (20_000, 96_000, False),
    ],
)
def test_a_report_is_doubted_beside_a_text_that_it_can_not_have_had(prompt: int, size: int, is_doubted: bool) -> None:
    assert is_doubtful(prompt, size) is is_doubted


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
