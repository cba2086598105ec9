"""The price that the catalog has for a model's name."""

from datetime import date

import msgspec
import pytest

from ullage.known_models import PRICES, price_of, prices_date
from ullage.model.usage import Usage

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-sonnet-4-5", 3.0),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("anthropic/claude-sonnet-4.5", 3.0),
        ("claude-sonnet-4-5[1m]", 3.0),
        ("gpt-4o", 2.5),
        ("gemini/gemini-2.5-flash", 0.3),
        ("gemini-2.5-flash", 0.3),
    ],
)
def test_a_model_is_known_by_any_of_its_names(model: str, dollars: float) -> None:
    price = price_of(model)
    assert price is not None
    assert price.tiers[0].input == dollars


@pytest.mark.parametrize(
    "model", ["", "homemade", "ft:gpt-4o:someone::abc", "llama3:8b", "deepseek-v4-flash", "claude-new-9"]
)
def test_no_price_is_guessed(model: str) -> None:
    assert price_of(model) is None


def test_a_long_prompt_costs_what_long_prompts_cost() -> None:
    price = price_of("gemini-2.5-pro")
    assert price is not None
    assert price.cost(Usage(input_tokens=200_000)) == pytest.approx(0.25)
    assert price.cost(Usage(input_tokens=100_000, cache_read_input_tokens=200_000)) == pytest.approx(0.25 + 0.05)


def test_every_price_rises_with_the_prompt() -> None:
    prices = msgspec.json.decode(PRICES.read_bytes())["prices"]
    assert len(prices) > 300
    for name, tiers in prices.items():
        assert tiers[0][0] == 0, name
        assert tiers == sorted(tiers), name
        assert all(0 < tier[1] <= tier[4] and tier[2] <= tier[1] for tier in tiers), name


def test_a_model_that_is_no_longer_served_has_the_price_that_it_had() -> None:
    price = price_of("claude-opus-4-20250514")
    assert price is not None
    assert (price.tiers[0].input, price.tiers[0].output) == (15.0, 75.0)


def test_the_day_of_the_prices_is_known() -> None:
    assert date.fromisoformat(prices_date()) >= date(2026, 11, 28)
