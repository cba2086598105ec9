"""A model's limits: listed facts, found by any of the model's names, and the user's overrides."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.catalog.families import family_limits
from ullage.model.settings import ModelSettings
from ullage.tokens.model_names import bare_name, without_date, without_provider

MODELS = Path(__file__).with_name("data") / "models.json"
_MILLION = "[1m]"

Facts = tuple[int, int, int | None]


class LimitsSource(StrEnum):
    """How limits are known, the most certain first.

    `override`: a setting. `exact`: the name is listed. `prefixed`: the name is listed without its provider. `dated`:
    the name is listed without provider and date. `family`: the model is not listed, and its family's smallest window is
    assumed. `unknown`: nothing is known.
    """

    OVERRIDE = "override"
    EXACT = "exact"
    PREFIXED = "prefixed"
    DATED = "dated"
    FAMILY = "family"
    UNKNOWN = "unknown"


class ContextLimits(Struct, frozen=True, kw_only=True):
    """A model's limits in tokens: the longest prompt (`input`), the window that prompt and answer share (`total`),
    and the longest answer (`max_output`). `listed_as` is the listed name or the family that they come from. A limit
    that is not known is None; without a window, context management is off."""

    model: str
    input: int | None = None
    total: int | None = None
    max_output: int | None = None
    source: LimitsSource = LimitsSource.UNKNOWN
    listed_as: str = ""

    @classmethod
    def for_model(cls, name: str, overrides: Mapping[str, ModelSettings] | None = None) -> "ContextLimits":
        """Returns the limits of a model by its name as any provider spells it. `overrides` are the `models` of the
        settings."""
        return _overridden(_found(name), _override_for(name, overrides or {}))


def _found(model: str) -> ContextLimits:
    listed = _listed()
    for name, source in listed_names(model):
        if facts := listed.get(name):
            found = _listed_limits(model, name, facts, source)
            return _with_million(found) if model.endswith(_MILLION) else found
    family = family_limits(bare_name(model))
    if family is None:
        return ContextLimits(model=model)
    assumed = ContextLimits(
        model=model, input=family.input, total=family.total, source=LimitsSource.FAMILY, listed_as=family.name
    )
    return _with_million(assumed) if model.endswith(_MILLION) else assumed


def listed_names(model: str) -> Iterator[tuple[str, LimitsSource]]:
    """Yields the names to look up, the most specific first. Some routers write versions with dots
    (`claude-sonnet-4.5`)."""
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


def _with_million(limits: ContextLimits) -> ContextLimits:
    """Claude Code writes `name[1m]` for a model with the window of a million tokens switched on."""
    return replace(limits, input=1_000_000, total=1_000_000)


def _override_for(model: str, overrides: Mapping[str, ModelSettings]) -> ModelSettings | None:
    """Returns the override under the model's own name, or under its name without provider and date."""
    by_name = {name.lower(): settings for name, settings in overrides.items()}
    return next((by_name[name] for name, _ in listed_names(model) if name in by_name), None)


def _overridden(limits: ContextLimits, settings: ModelSettings | None) -> ContextLimits:
    if settings is None or (settings.window is None and settings.max_output is None):
        return limits
    if settings.window is not None:
        limits = replace(limits, input=settings.window, total=settings.window)
    return replace(limits, max_output=settings.max_output or limits.max_output, source=LimitsSource.OVERRIDE)


@cache
def _listed() -> dict[str, Facts]:
    """Returns the facts by listed name and by the name without provider. Where providers differ, the smaller window
    counts."""
    listed = msgspec.json.decode(MODELS.read_bytes(), type=dict[str, Facts])
    bare: dict[str, Facts] = {}
    for name, facts in listed.items():
        short = name.rsplit("/", 1)[-1]
        bare[short] = min(facts, bare.get(short, facts), key=lambda each: each[0])
    return bare | listed
