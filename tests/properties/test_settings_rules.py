"""Laws of the settings: whatever thresholds are chosen, they are refused together or keep the rules."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.api.session_methods import read_settings
from ullage.model.errors import InvalidRequest
from ullage.model.settings import (
    ContextSettings,
    Settings,
    SummarySettings,
    check_settings,
    settled,
    settled_prepare_at,
)
from ullage.policy.budget import make_budget

SHARES = st.integers(1, 99).map(lambda percent: percent / 100)
CHOSEN = st.fixed_dictionaries(
    {}, optional={"target": SHARES, "clear_at": SHARES, "warn_at": SHARES, "compact_at": SHARES}
)


def chosen_settings(chosen: dict[str, float]) -> ContextSettings:
    return replace(ContextSettings(), **chosen)


@given(CHOSEN, st.integers(1_000, 2_000_000))
def test_thresholds_always_keep_the_rules(chosen: dict[str, float], window: int) -> None:
    settings = chosen_settings(chosen)
    budget = make_budget(window, None, settings)
    assert 0 <= budget.target <= budget.compact_at <= budget.usable
    assert max(budget.warn_at, budget.clear_at) <= budget.compact_at
    assert settled(settled(settings)) == settled(settings)
    assert settled(settings).compact_at == settings.compact_at
    assert settled_prepare_at(SummarySettings(), settings) <= settings.compact_at


@given(CHOSEN, st.none() | SHARES)
# The default of `prepare_at`.
@example({"compact_at": 0.01}, 0.75)
def test_what_is_accepted_stays_as_it_was_chosen_and_a_refusal_names_two(
    chosen: dict[str, float], prepare_at: float | None
) -> None:
    summary = SummarySettings() if prepare_at is None else SummarySettings(prepare_at=prepare_at)
    settings = Settings(context=chosen_settings(chosen), summary=summary)
    try:
        check_settings(settings)
    except InvalidRequest as error:
        names = re.findall(r"context\.\w+", str(error))
        assert len(set(names)) == 2
    else:
        kept = settled(settings.context)
        # A choice that equals the default can't be known as a choice, so it gives way like the default.
        default = ContextSettings()
        assert all(getattr(kept, name) == value for name, value in chosen.items() if value != getattr(default, name))
        assert prepare_at in (None, SummarySettings().prepare_at, settled_prepare_at(summary, kept))


def test_the_defaults_keep_the_rules_and_stay_as_they_are() -> None:
    check_settings(Settings())
    assert settled(ContextSettings()) == ContextSettings()


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ({"context": {"compactAt": 0.3, "target": 0.5001, "warnAt": 0.9}}, ("context.target", "context.compactAt")),
        ({"context": {"warnAt": 0.95}}, ("context.warnAt", "context.compactAt")),
        ({"context": {"clearAt": 0.95}}, ("context.clearAt", "context.compactAt")),
    ],
)
def test_a_client_is_told_which_two_settings_contradict_each_other(section: object, names: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="Change one of them") as refused:
        read_settings(section)
    assert all(name in str(refused.value) for name in names)


def test_a_lower_compact_at_takes_the_defaults_with_it() -> None:
    kept = settled(read_settings({"context": {"compactAt": 0.45}}).context)
    assert (kept.target, kept.clear_at, kept.warn_at) == pytest.approx((0.25, 0.325, 0.4))
