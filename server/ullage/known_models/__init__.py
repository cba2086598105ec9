"""A model's limits and list prices.

Limits come from the user's overrides, else from the list of known models, which is searched by each of the model's
names, else from the limits of its family. A name that is not listed may be a variant of a listed one, with a route or
an effort after it, or a vendor before it. A model that is not listed but has listed relatives, of the same series and
earlier versions, gets the window of the newest of them. One that only belongs to a known family gets the smallest
window among the family's members. Sources: the providers' model pages.

Prices are those of the providers' own APIs, where they are known.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.model.settings import ModelSettings
from ullage.model.usage import Price, PriceTier
from ullage.tokens.families import asks_for_a_million, bare_name, inner_names, series_of, without_date, without_provider


class FamilyLimits(Struct, frozen=True, kw_only=True):
    """The limits assumed for a family of models, in tokens: the longest prompt (`input`) and the window that prompt and
    answer share (`total`), and the longest answer (`max_output`), None if its models differ."""

    name: str
    input: int
    total: int
    max_output: int | None = None


def _one_window(name: str, tokens: int, max_output: int | None = None) -> FamilyLimits:
    return FamilyLimits(name=name, input=tokens, total=tokens, max_output=max_output)


# Matched in this order against the bare, lower-case name; the first match counts.
_FAMILIES = (
    # Claude 2.1 was the first with 200,000.
    (r"claude-(instant|v?1|v?2(\.0)?$)", _one_window("claude-2", 100_000, 4_096)),
    # What Anthropic's list of models said of the longest answers while it had these.
    (r"claude-(v?2|3-(opus|sonnet|haiku))", _one_window("claude-3", 200_000, 4_096)),
    (r"claude-3[-.]5", _one_window("claude-3.5", 200_000, 8_192)),
    (r"claude|(sonnet|opus|haiku)$", _one_window("claude", 200_000)),
    (r"gpt-oss", _one_window("gpt-oss", 131_072)),
    (r"gpt-5-pro", FamilyLimits(name="gpt-5-pro", input=128_000, total=400_000)),
    (r"gpt-([6-9]|5(?!.*chat))", FamilyLimits(name="gpt-5", input=272_000, total=400_000)),
    (
        r"(chatgpt-4o|gpt-4o|gpt-4\.|gpt-5|gpt-4-(turbo|1106|0125|vision)|codex|o1-(mini|preview))",
        _one_window("gpt-4o", 128_000),
    ),
    (r"gpt-4-32k", _one_window("gpt-4-32k", 32_768)),
    (r"gpt-4", _one_window("gpt-4", 8_192)),
    (r"gpt-3\.5", _one_window("gpt-3.5", 4_096)),
    (r"o[1-9](-|$)", _one_window("o", 200_000)),
    (r"gemini-.*-tts", _one_window("gemini-tts", 8_192)),
    (r"gemini-.*computer-use", _one_window("gemini-computer-use", 128_000)),
    (r"gemini-1\.5-pro", FamilyLimits(name="gemini-1.5-pro", input=2_097_152, total=2_105_344)),
    (r"gemini-1\.5", FamilyLimits(name="gemini-1.5", input=1_048_576, total=1_056_768)),
    (r"gemini-([2-9]|\d\d)", FamilyLimits(name="gemini", input=1_048_576, total=1_114_112)),
    (r"gemma-?3(n|.*[-:](1b|270m))", _one_window("gemma-3-small", 32_768)),
    (r"gemma-?[34]", _one_window("gemma", 131_072)),
    (r"(gemini|gemma)", _one_window("gemini-1", 8_192)),
    (r"deepseek-(llm|math)", _one_window("deepseek-llm", 4_096)),
    (r"deepseek-coder-\d", _one_window("deepseek-coder", 16_384)),
    (r"deepseek", _one_window("deepseek", 65_536)),
    # In `llama-3-70b` the second number is the size, not the version.
    (r"(meta-)?llama-?(3[.-][1-3](?!\d*b)|4(?!\d*b))", _one_window("llama-3.1", 131_072)),
    (r"(meta-)?llama-?3", _one_window("llama-3", 8_192)),
    (r"(meta-)?llama-?(7|13|30|33|65)b", _one_window("llama-1", 2_048)),
    (r"(meta-)?llama", _one_window("llama", 4_096)),
    (r"codellama", _one_window("codellama", 16_384)),
    (r"qwen-max", _one_window("qwen-max", 30_720)),
    (r"(qwen|qwq)", _one_window("qwen", 32_768)),
    (r"(mistral|mixtral|codestral|devstral|magistral|ministral|pixtral)", _one_window("mistral", 32_000)),
    (r"grok-1(?!\.5)", _one_window("grok-1", 8_192)),
    (r"grok", _one_window("grok", 131_072)),
    (r"glm-(4v|[1-3])", _one_window("glm-3", 8_192)),
    (r"glm-(4-32b|z1)", _one_window("glm-4-32b", 32_768)),
    (r"glm-4\.5v", _one_window("glm-4.5v", 65_536)),
    (r"glm", _one_window("glm", 128_000)),
    (r"moonshot.*-8k", _one_window("moonshot-8k", 8_192)),
    (r"moonshot.*-32k", _one_window("moonshot-32k", 32_768)),
    (r"(kimi|moonshot)", _one_window("kimi", 131_072)),
)


def family_limits(bare_name: str) -> FamilyLimits | None:
    """Returns the limits to assume for a model that is not listed, by its bare name (lower case, without provider and
    date). Returns None if it belongs to no known family."""
    return next((limits for pattern, limits in _FAMILIES if re.match(pattern, bare_name)), None)


MODELS = Path(__file__).with_name("data") / "models.json"

Facts = tuple[int, int, int | None]


class LimitsSource(StrEnum):
    """How a model's limits are known, the most certain way first.

    `override`: the user's settings. `exact`: the name is in the list of models. `prefixed`: the name without its
    provider is in the list. `dated`: the name without provider and date is in the list. `variant`: the name without a
    route, an effort or another vendor's name is in the list. `relative`: the model is not in the list, and the window
    of the newest earlier version of its series is assumed. `family`: the same, with its family's smallest window.
    `unknown`: nothing is known.
    """

    OVERRIDE = "override"
    EXACT = "exact"
    PREFIXED = "prefixed"
    DATED = "dated"
    VARIANT = "variant"
    RELATIVE = "relative"
    FAMILY = "family"
    UNKNOWN = "unknown"


class ContextLimits(Struct, frozen=True, kw_only=True):
    """A model's limits in tokens: the longest prompt (`input`), the window that prompt and answer share (`total`),
    and the longest answer (`max_output`). `listed_as` is the listed name or the family that they come from. A limit
    that is not known is None; without a window, context management is off. `is_set` says that the window comes from the
    user's settings."""

    model: str
    input: int | None = None
    total: int | None = None
    max_output: int | None = None
    source: LimitsSource = LimitsSource.UNKNOWN
    listed_as: str = ""
    is_set: bool = False

    @property
    def basis(self) -> str:
        """Where the window comes from, in words for the user."""
        match self.source:
            case LimitsSource.RELATIVE:
                return f"{self.model} is not in the list of models; {self.listed_as} is its newest relative there"
            case LimitsSource.FAMILY:
                return f"{self.model} is not in the list of models; its family has at least this window"
            case LimitsSource.VARIANT:
                return f"the list of models: {self.listed_as}"
            case _:
                return f"the list of models: {self.model}"

    @classmethod
    def for_model(cls, name: str, overrides: Mapping[str, ModelSettings] | None = None) -> "ContextLimits":
        """Returns the limits of a model by its name as any provider spells it: from the list of models or its family,
        replaced by the settings in `overrides`, the `models` of the user's settings. Unknown limits are None."""
        return _overridden(_find_limits(name), _override_for(name, overrides or {}))


def _find_limits(model: str) -> ContextLimits:
    found = _listed_as(model, listed_names(model)) or _listed_as(model, _variants(model)) or _assumed(model)
    # A window of a million tokens, for a name with the suffix `[1m]` of Claude Code.
    return replace(found, input=1_000_000, total=1_000_000) if found.input and asks_for_a_million(model) else found


def _listed_as(model: str, names: Iterator[tuple[str, LimitsSource]]) -> ContextLimits | None:
    listed = _listed()
    found = next(((name, facts, source) for name, source in names if (facts := listed.get(name))), None)
    return _listed_limits(model, *found) if found else None


def _variants(model: str) -> Iterator[tuple[str, LimitsSource]]:
    for inner in inner_names(model):
        for name, _ in listed_names(inner):
            yield name, LimitsSource.VARIANT


def _assumed(model: str) -> ContextLimits:
    """Returns limits to assume for an unlisted model: those of its newest relative, else of its family."""
    for inner in inner_names(model)[::-1]:
        bare = bare_name(inner)
        if relative := _relative(bare):
            return _listed_limits(model, relative, _listed()[relative], LimitsSource.RELATIVE)
    # The last name is without all settings and, if a vendor's model is named within another's name, that model's.
    family = next((found for name in inner_names(model)[::-1] if (found := family_limits(bare_name(name)))), None)
    if family is None:
        return ContextLimits(model=model)
    return ContextLimits(
        model=model,
        input=family.input,
        total=family.total,
        max_output=family.max_output,
        source=LimitsSource.FAMILY,
        listed_as=family.name,
    )


def _relative(bare: str) -> str | None:
    """Returns the newest listed model of the same series and family whose version is not later than that of the model
    with this bare name; None if there is none."""
    series, version = series_of(bare)
    earlier = [(known, name) for known, name in _series().get(series, ()) if version and known <= version]
    return max(earlier)[1] if earlier and family_limits(max(earlier)[1]) is family_limits(bare) else None


@cache
def _series() -> dict[str, list[tuple[tuple[int, ...], str]]]:
    """Returns the listed names of each series, with their versions."""
    by_series: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for name in _listed():
        series, version = series_of(name)
        if version:
            by_series.setdefault(series, []).append((version, name))
    return by_series


def listed_names(model: str) -> Iterator[tuple[str, LimitsSource]]:
    """Yields the names under which a model may be listed, each with the source of limits found under it: first the name
    as it is, then without provider, then without date, last with `-latest` in place of the date.

    Names may repeat. A name with dots is also yielded with hyphens, because some routers write versions with dots
    (`claude-sonnet-4.5`).
    """
    whole = model.strip().lower()
    plain = without_provider(model)
    undated = without_date(plain)
    yield whole, LimitsSource.EXACT
    yield plain, LimitsSource.PREFIXED
    yield plain.replace(".", "-"), LimitsSource.PREFIXED
    yield undated, LimitsSource.DATED
    yield undated.replace(".", "-"), LimitsSource.DATED
    yield f"{undated}-latest", LimitsSource.DATED


def _listed_limits(model: str, name: str, facts: Facts, source: LimitsSource) -> ContextLimits:
    longest, total, max_output = facts
    return ContextLimits(model=model, input=longest, total=total, max_output=max_output, source=source, listed_as=name)


def _override_for(model: str, overrides: Mapping[str, ModelSettings]) -> ModelSettings | None:
    """Returns the user's settings for the model under the first of its `listed_names`, in any case, or None."""
    by_name = {name.lower(): settings for name, settings in overrides.items()}
    return next((by_name[name] for name, _ in listed_names(model) if name in by_name), None)


def _overridden(limits: ContextLimits, settings: ModelSettings | None) -> ContextLimits:
    if settings is None or (settings.window is None and settings.max_output is None):
        return limits
    if settings.window is not None:
        limits = replace(limits, input=settings.window, total=settings.window, is_set=True)
    return replace(limits, max_output=settings.max_output or limits.max_output, source=LimitsSource.OVERRIDE)


@cache
def _listed() -> dict[str, Facts]:
    """Returns the limits in the list of models (input, total, output; in tokens) by the name and by the name without
    provider. If providers differ, the smaller window is used for the name without provider."""
    listed = msgspec.json.decode(MODELS.read_bytes(), type=dict[str, Facts])
    bare: dict[str, Facts] = {}
    for name, facts in listed.items():
        short = name.rsplit("/", 1)[-1]
        bare[short] = min(facts, bare.get(short, facts), key=lambda each: each[0])
    return bare | listed


PRICES = Path(__file__).with_name("data") / "prices.json"
# Only Google serves Gemini, so its models are found without the provider's name. The price of an open model depends on
# who serves it.
_SOLE = "gemini/"


# Asked with every report of usage, of a few models; a client may name any number of them.
@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """Returns the list price of a model by its name as any provider spells it. It is never guessed: returns None for a
    fine-tuned model, for a router's variant (a name with `:`), and for a model that is not listed."""
    if ":" in model:
        return None
    listed = _listed_prices()
    return next((listed[name] for name, _ in listed_names(model) if name in listed), None)


def prices_date() -> str:
    """Returns the day on which the prices were listed so, such as "2026-11-28"."""
    return _price_list().date


class _PriceList(Struct, frozen=True):
    date: str
    prices: dict[str, tuple[PriceTier, ...]]


@cache
def _price_list() -> _PriceList:
    return msgspec.json.decode(PRICES.read_bytes(), type=_PriceList)


@cache
def _listed_prices() -> dict[str, Price]:
    tiers = _price_list().prices
    prices = {name: Price(found) for name, found in tiers.items()}
    return {name.removeprefix(_SOLE): price for name, price in prices.items()} | prices
