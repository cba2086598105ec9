"""The rules between settings.

All thresholds are shares of usable:

    target < compactAt    clearAt ≤ compactAt    warnAt ≤ compactAt

A user's choice against a rule is refused by one error that names both settings. A setting that was left at its default
gives way to a lower `compactAt`: it keeps its proportion to it. So does `summary.prepareAt`, which may also be chosen
above `compactAt`: then no summary is prepared.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import InvalidRequest
from ullage.model.settings import ContextSettings, Settings, SummarySettings, context_settings

_DEFAULT, _SUMMARY = ContextSettings(), SummarySettings()


class _Threshold(Struct, frozen=True):
    """One setting that is a share of usable: its name as users write it, its value and its default."""

    name: str
    value: float
    default: float

    @property
    def is_chosen(self) -> bool:
        return self.value != self.default


def check(settings: Settings) -> None:
    """Raises `InvalidRequest` if the context settings, or those of a model under `models`, contradict each other."""
    check_context(settings.context)
    for model in settings.models:
        try:
            check_context(context_settings(settings, model))
        except InvalidRequest as error:
            raise InvalidRequest(f"ullage.models.{model}: {error}") from None


def check_context(settings: ContextSettings) -> None:
    """Raises `InvalidRequest` if the user chose a target, clear or warn share that contradicts `compactAt`."""
    for lower, upper in _order(settings):
        _require(lower, upper)


def settled(settings: ContextSettings) -> ContextSettings:
    """Returns the settings with target, clear and warn shares that agree with `compact_at`. A share that contradicts it
    is replaced by its default in proportion to `compact_at`, even if a user chose it: workspace and session may each
    have chosen one."""
    compact = settings.compact_at
    share = compact / _DEFAULT.compact_at
    target = settings.target if settings.target < compact else _DEFAULT.target * share
    clear = settings.clear_at if settings.clear_at <= compact else _DEFAULT.clear_at * share
    warn = settings.warn_at if settings.warn_at <= compact else _DEFAULT.warn_at * share
    return replace(settings, target=target, clear_at=clear, warn_at=warn)


def settled_prepare_at(summary: SummarySettings, context: ContextSettings) -> float:
    """Returns the share of usable from which a summary is prepared. If the user did not choose it, it keeps its default
    proportion to a lower `compactAt`, so that it is below `compactAt`."""
    if summary.prepare_at != _SUMMARY.prepare_at or summary.prepare_at < context.compact_at:
        return summary.prepare_at
    return _SUMMARY.prepare_at * context.compact_at / _DEFAULT.compact_at


def _order(settings: ContextSettings) -> Iterator[tuple[_Threshold, _Threshold]]:
    """Yields the pairs of settings of which the first must not exceed the second."""
    of = _thresholds(settings)
    yield of["target"], of["compactAt"]
    yield of["clearAt"], of["compactAt"]
    yield of["warnAt"], of["compactAt"]


def _thresholds(settings: ContextSettings) -> dict[str, _Threshold]:
    return {
        name: _Threshold(f"context.{name}", value, default)
        for name, value, default in (
            ("target", settings.target, _DEFAULT.target),
            ("clearAt", settings.clear_at, _DEFAULT.clear_at),
            ("warnAt", settings.warn_at, _DEFAULT.warn_at),
            ("compactAt", settings.compact_at, _DEFAULT.compact_at),
        )
    }


def _require(lower: _Threshold, upper: _Threshold) -> None:
    """Raises `InvalidRequest` if `lower` is not its default and exceeds `upper`. The target must be below `compactAt`,
    not equal to it."""
    strict = lower.name == "context.target" and upper.name == "context.compactAt"
    fits = lower.value < upper.value if strict else lower.value <= upper.value
    if lower.is_chosen and not fits:
        how = "below" if strict else "at most"
        left = "" if upper.is_chosen else ", its default"
        raise InvalidRequest(
            f"{lower.name} ({lower.value:g}) must be {how} {upper.name} ({upper.value:g}{left}). Change one of them."
        )
