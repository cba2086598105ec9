"""The limits and the price that the catalog has for a model's name."""

from datetime import date

import msgspec
import pytest

from support.tables import every
from ullage.known_models import MODELS, PRICES, ContextLimits, LimitsSource, family_limits, price_of, prices_date
from ullage.model.settings import ModelSettings
from ullage.model.usage import Usage
from ullage.tokens.families import bare_name


@every(
    "model, window, source",
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
        ("openrouter/google/gemini-3-pro-preview", 1_048_576, "relative"),
        ("google/gemini-3-pro-preview", 1_048_576, "relative"),
        ("deepseek/deepseek-v4-flash:exacto", 1_000_000, "variant"),
        ("anthropic/claude-opus-4.6:1m", 1_000_000, "variant"),
        ("claude-sonnet-4-5-1m", 1_000_000, "variant"),
        ("claude-opus-4-6-thinking", 1_000_000, "variant"),
        ("claude-opus-4-6-thinking-high", 1_000_000, "variant"),
        ("gpt-5.1-codex(high)", 272_000, "variant"),
        ("openai/gpt-5.5#high", 922_000, "variant"),
        ("claude-opus-5-5-thinking-32k", 1_000_000, "variant"),
        ("claude-4.6-opus-high-thinking", 1_000_000, "variant"),
        ("claude-5.5-opus", 1_000_000, "prefixed"),
        ("gpt-5.1 (xhigh)", 272_000, "variant"),
        ("gemini-claude-opus-4-5-thinking", 200_000, "variant"),
        ("copilot-gpt-5.1", 272_000, "variant"),
        ("someone/proxy_claude-sonnet-4.6:floor", 1_000_000, "variant"),
        ("claude-opus-6", 1_000_000, "relative"),
        ("claude-opus-4-1", 200_000, "family"),
        ("gpt-6.2-sol", 922_000, "relative"),
        ("gpt-6.2-sol-high", 922_000, "relative"),
        ("deepseek-r1-distill-qwen3-32b", 65_536, "family"),
        ("qwen3:8b", 32_768, "family"),
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


@pytest.mark.parametrize(
    ("models", "window"),
    [
        ("llama-3-70b llama-3-8b llama3-70b llama3:8b llama3-70b-8192 Meta-Llama-3-70B-Instruct", 8_192),
        ("meta.llama3-70b-instruct-v1:0 meta-llama/Meta-Llama-3-8B-Instruct", 8_192),
        ("llama-3.1-8b llama3.1:70b llama-3-1-70b meta.llama3-1-70b-instruct-v1:0 llama-3.3-70b-versatile", 131_072),
        ("llama-4-scout llama-3.2-1b Meta-Llama-3.1-405B-Instruct", 131_072),
        ("llama-2-7b llama2:13b", 4_096),
        ("llama-7b llama-65b", 2_048),
        ("gemini-1.5-pro gemini-1.5-pro-002 google/gemini-1.5-pro-latest", 2_097_152),
        ("gemini-1.5-flash gemini-1.5-flash-8b", 1_048_576),
        ("gemini-2.5-pro-preview-tts gemini-9-flash-tts gemma-2-9b grok-1 glm-4v", 8_192),
        ("gemma-3-1b-it gemma3:1b gemma-3n-e4b moonshot-v1-32k-2099 glm-4-32b", 32_768),
        ("gemma-3-27b-it gemma3:12b grok-2 grok-beta kimi-k2 moonshot-v1-128k-2099", 131_072),
        ("claude-2 claude-2.0 claude-instant-1.2", 100_000),
        ("claude-2.1 claude-3-opus claude-3-haiku", 200_000),
        ("gpt-4-0125-preview gpt-4-vision-preview gpt-4-turbo-preview o1-mini", 128_000),
        ("gpt-4 gpt-4-0314", 8_192),
        ("gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct deepseek-llm-67b", 4_096),
    ],
)
def test_versions_and_sizes_in_a_name_are_told_apart(models: str, window: int) -> None:
    assert {model: ContextLimits.for_model(model).input for model in models.split()} == dict.fromkeys(
        models.split(), window
    )


def test_no_family_is_taken_to_have_a_larger_window_than_a_listed_member() -> None:
    """A newer member of a family, which is not listed yet, gets what the pattern gives the listed ones."""
    listed = msgspec.json.decode(MODELS.read_bytes(), type=dict[str, tuple[int, int, int | None]])
    for name, (longest, total, _) in listed.items():
        family = family_limits(bare_name(name))
        if family is not None:
            assert family.input <= longest, name
            assert family.total - family.input <= max(total - longest, 128_000), name


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


def test_the_words_for_a_window_say_whether_the_model_itself_is_listed() -> None:
    basis = {name: ContextLimits.for_model(name).basis for name in ("gpt-5.1", "claude-opus-6", "claude-3-opus")}
    assert basis["gpt-5.1"] == "the list of models: gpt-5.1"
    assert (
        basis["claude-opus-6"]
        == "claude-opus-6 is not in the list of models; claude-opus-5-5 is its newest relative there"
    )
    assert basis["claude-3-opus"] == "claude-3-opus is not in the list of models; its family has at least this window"


@pytest.mark.parametrize(
    ("names", "longest"),
    [
        ("claude-2 claude-2.1 claude-instant-1.2", 4_096),
        ("claude-3-opus anthropic/claude-3-opus-20240229 claude-3-sonnet claude-3-haiku-20240307", 4_096),
        ("claude-3-5-sonnet-20241022 claude-3.5-haiku", 8_192),
        ("claude-3-7-sonnet", None),
    ],
)
def test_the_longest_answer_of_a_retired_model_is_known_where_its_family_has_one(
    names: str, longest: int | None
) -> None:
    assert {ContextLimits.for_model(name).max_output for name in names.split()} == {longest}


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
