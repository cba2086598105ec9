"""When to warn: once on the way up, again only after the context was compacted or fell below the threshold."""

from msgspec import Struct

from ullage.model.updates import Level
from ullage.policy.budget import ContextBudget

# A figure that wavers around the threshold must not warn again and again; it has to fall by this share of usable.
_HYSTERESIS = 0.02


class Alarm(Struct, frozen=True, kw_only=True):
    """Whether the person has been warned, at how many tokens, and below how many the next crossing is a new one."""

    used: int = 0
    again_below: int | None = None


def is_due(alarm: Alarm, used: int, budget: ContextBudget) -> bool:
    """Whether to warn now."""
    return alarm.again_below is None and used >= budget.warn_at


def raised(used: int, budget: ContextBudget) -> Alarm:
    """The alarm once the person has been warned."""
    return Alarm(used=used, again_below=budget.warn_at - int(budget.usable * _HYSTERESIS))


def lowered(alarm: Alarm, used: int) -> Alarm:
    """The alarm after a new figure."""
    return Alarm() if alarm.again_below is not None and used < alarm.again_below else alarm


def level(used: int, budget: ContextBudget | None) -> Level:
    """Where a figure stands; `off` without a budget."""
    if budget is None:
        return Level.OFF
    if used >= budget.compact_at:
        return Level.CRITICAL
    return Level.WARNING if used >= budget.warn_at else Level.NORMAL
