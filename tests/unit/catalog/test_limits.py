"""The limits that the catalog has for a model's name."""

import pytest

from ullage.catalog.limits import ContextLimits, LimitsSource
from ullage.model.settings import ModelSettings


@pytest.mark.parametrize(
    ("model", "window", "source"),
    [
        ("gpt-4o", 128_000, "exact"),
        ("gpt-4o-2024-08-06", 128_000, "exact"),
        ("claude-sonnet-4-5-20250929", 200_000, "exact"),
        ("claude-opus-4-5-20251101", 200_000, "exact"),
        ("claude-haiku-4-5-20251001", 200_000, "exact"),
        ("claude-opus-4-6", 1_000_000, "exact"),
        ("gpt-5-codex", 272_000, "exact"),
        ("gpt-5-2025-08-07", 272_000, "exact"),
        ("deepseek/deepseek-chat", 131_072, "exact"),
        ("claude-opus-4-6-20990101", 1_000_000, "dated"),
        ("claude-sonnet-4-6-latest", 1_000_000, "dated"),
        ("claude-haiku-4-5@20251001", 200_000, "prefixed"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, "prefixed"),
        ("us-anthropic-claude-sonnet-4-5-20250929", 200_000, "prefixed"),
        ("anthropic.claude-opus-4-6-v1", 1_000_000, "prefixed"),
        ("bedrock/eu.anthropic.claude-sonnet-4-6-20990101-v1:0", 1_000_000, "dated"),
        ("anthropic/claude-sonnet-4.5", 200_000, "prefixed"),
        ("openrouter/anthropic/claude-opus-4.6:thinking", 1_000_000, "prefixed"),
        ("litellm_proxy/deepseek/deepseek-chat", 131_072, "prefixed"),
        ("litellm_proxy/deepseek-chat", 131_072, "prefixed"),
        ("openrouter/google/gemini-2.5-pro", 1_048_576, "prefixed"),
        ("x-ai/grok-code-fast-1", 256_000, "prefixed"),
        ("ft:gpt-4o-2024-08-06:someone::abc123", 128_000, "prefixed"),
        ("devstral-medium", 256_000, "dated"),
        ("litellm_proxy/anthropic/claude-sonnet-4-20250514", 200_000, "family"),
        ("openrouter/google/gemini-3-pro-preview", 1_048_576, "family"),
        ("google/gemini-3-pro-preview", 1_048_576, "family"),
        ("gpt-oss:20b", 131_072, "family"),
        ("sonnet", 200_000, "family"),
        ("us-anthropic-claude-sonn", 200_000, "family"),
        ("claude-3-5-sonnet-latest", 200_000, "family"),
        ("meta-llama/llama-3.1-70b-instruct", 131_072, "family"),
    ],
)
def test_model_resolves(model: str, window: int, source: str) -> None:
    limits = ContextLimits.for_model(model)
    assert (limits.input, limits.source) == (window, source)


@pytest.mark.parametrize("model", ["", "<synthetic>", "nobody/knows-this", "7"])
def test_no_window_is_guessed_for_a_model_of_no_known_family(model: str) -> None:
    limits = ContextLimits.for_model(model)
    assert (limits.input, limits.source) == (None, LimitsSource.UNKNOWN)


@pytest.mark.parametrize(
    ("model", "longest", "total", "max_output"),
    [
        ("gpt-5", 272_000, 400_000, 128_000),
        ("gpt-5.1-codex", 272_000, 400_000, 128_000),
        ("gpt-5-pro", 128_000, 400_000, 272_000),
        ("gpt-5.5", 922_000, 1_050_000, 128_000),
        ("gpt-6-sol", 922_000, 1_050_000, 128_000),
        ("gpt-5.4-mini", 272_000, 400_000, 128_000),
        ("claude-opus-4-6", 1_000_000, 1_000_000, 128_000),
        ("gemini/gemini-2.5-pro", 1_048_576, 1_114_112, 65_536),
        ("o3", 200_000, 200_000, 100_000),
    ],
)
def test_longest_prompt_and_whole_window_are_distinguished(
    model: str, longest: int, total: int, max_output: int
) -> None:
    limits = ContextLimits.for_model(model)
    assert (limits.input, limits.total, limits.max_output) == (longest, total, max_output)


@pytest.mark.parametrize(
    "model", ["xai/grok-4.3", "moonshot/kimi-k2.5", "mistral/mistral-large-3", "gemini/gemini-4-argon"]
)
def test_an_output_as_long_as_the_input_is_not_believed(model: str) -> None:
    assert ContextLimits.for_model(model).max_output is None


def test_a_setting_overrides_what_is_listed_and_leaves_the_rest() -> None:
    overrides = {"gpt-4o": ModelSettings(window=64_000)}
    limits = ContextLimits.for_model("gpt-4o", overrides)
    assert (limits.input, limits.total, limits.max_output) == (64_000, 64_000, 16_384)
    assert limits.source is LimitsSource.OVERRIDE


def test_a_setting_gives_an_unknown_model_its_window() -> None:
    limits = ContextLimits.for_model("my-model", {"My-Model": ModelSettings(window=32_000, max_output=2_000)})
    assert (limits.input, limits.max_output) == (32_000, 2_000)


def test_a_setting_applies_to_the_provider_prefixed_and_dated_name() -> None:
    overrides = {"claude-sonnet-4-5": ModelSettings(window=1_000_000)}
    assert ContextLimits.for_model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", overrides).input == 1_000_000


def test_a_setting_of_the_encoding_alone_leaves_limits_as_they_are() -> None:
    overrides = {"gpt-4o": ModelSettings(encoding="cl100k_base")}
    assert ContextLimits.for_model("gpt-4o", overrides) == ContextLimits.for_model("gpt-4o")


def test_the_million_token_variant_has_a_million() -> None:
    assert ContextLimits.for_model("claude-sonnet-4-5[1m]").input == 1_000_000
    assert ContextLimits.for_model("sonnet[1m]").input == 1_000_000
