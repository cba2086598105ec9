"""The counter that a model gets."""

import logging

import pytest

from ullage.tokens.counter import ApproximateCounter, CounterRegistry, TiktokenCounter, get_counter
from ullage.tokens.families import Family


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-5-2025-08-07", "o200k_base"),
        ("gpt-5-codex", "o200k_base"),
        ("gpt-6-sol", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("claude-opus-4-6", "o200k_base×1.18"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "o200k_base×1.18"),
        ("us-anthropic-claude-sonn", "o200k_base×1.18"),
        ("claude-opus-4-7", "o200k_base×1.53"),
        ("google/gemini-3-pro-preview", "o200k_base×1.20"),
        ("litellm_proxy/deepseek/deepseek-chat", "o200k_base×1.05"),
    ],
)
def test_model_is_counted_with(model: str, name: str) -> None:
    assert get_counter(model).name == name


def test_models_of_one_family_share_a_counter() -> None:
    assert get_counter("gpt-4o") is get_counter("openai/gpt-4o-2024-08-06")


def test_unknown_model_is_counted_and_says_that_it_is_uncertain() -> None:
    assert get_counter("nobody/knows-this").error_share >= 0.1


def test_encoding_given_is_used_as_exact() -> None:
    counter = get_counter("claude-sonnet-4-5", "cl100k_base")
    assert (counter.name, counter.error_share) == ("cl100k_base", 0.0)
    assert get_counter("gpt-4o", "approximate").name == "approximate"


def refuse(family: Family) -> TiktokenCounter:
    raise OSError(f"no vocabulary for {family.name}")


def test_without_vocabulary_counts_are_approximate_and_one_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    registry = CounterRegistry(make_exact=refuse)
    with caplog.at_level(logging.WARNING):
        counters = [registry.get_counter(model) for model in ("gpt-4o", "claude-sonnet-4-5", "gpt-4o")]
    assert all(isinstance(counter, ApproximateCounter) for counter in counters)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no vocabulary" in caplog.text
