"""When to warn: once on the way up, again only after the context was compacted or fell below the threshold."""

from msgspec import Struct

from ullage.model.updates import Level
from ullage.policy.budget import ContextBudget

# A figure that wavers around the threshold must not warn again and again; it has to fall by this share of usable.
_HYSTERESIS = 0.02


class Alarm(Struct, frozen=True, kw_only=True):
    """Whether the person has been warned since the context last was below the threshold."""

    warned: bool = False


def observe(alarm: Alarm, used: int, budget: ContextBudget) -> tuple[Alarm, bool]:
    """The alarm after a new figure, and whether to warn now."""
    if used >= budget.warn_at:
        return Alarm(warned=True), not alarm.warned
    if used < budget.warn_at - int(budget.usable * _HYSTERESIS):
        return Alarm(), False
    return alarm, False


def level(used: int, budget: ContextBudget | None) -> Level:
    """Where a figure stands; `off` without a budget."""
    if budget is None:
        return Level.OFF
    if used >= budget.compact_at:
        return Level.CRITICAL
    return Level.WARNING if used >= budget.warn_at else Level.NORMAL
