"""When to warn: once when the context crosses the warning threshold, and again only after an edit, or after the figure
fell below the threshold."""

from msgspec import Struct

from ullage.model.updates import Level
from ullage.policy.budget import ContextBudget

# An estimate counts up to this share above the last report; the next report comes with the next call. Of 4,853 recorded
# prompts 99 % were predicted within 1.8 %, and with any share from 2 % to 10 % the same recorded compactions are warned
# of in time.
_ABOVE_REPORT = 0.05
# A figure that wavers around the threshold must not warn again and again; it has to fall by this share of usable.
_HYSTERESIS = 0.02


class Alarm(Struct, frozen=True, kw_only=True):
    """Whether the user has been warned of the present crossing of the warning threshold. `used` is the number of tokens
    at that warning. Below `again_below` tokens the alarm is reset; None means that the user has not been warned."""

    used: int = 0
    again_below: int | None = None


def sure(used: int, reported: int | None) -> int:
    """Returns the tokens that every warning goes by: `used`, but at most 5 % more than the `reported` tokens of the
    last usage report. That is None if no report covers the context."""
    return used if reported is None else min(used, int(reported * (1 + _ABOVE_REPORT)))


def is_due(alarm: Alarm, used: int, budget: ContextBudget) -> bool:
    """Returns whether to warn the user now: `used` tokens reach the warning threshold, and the alarm has not warned of
    it yet."""
    return alarm.again_below is None and used >= budget.warn_at


def raised(used: int, budget: ContextBudget) -> Alarm:
    """Returns the alarm after the user has been warned at `used` tokens. It is reset once the context is 2 % of usable
    below the warning threshold."""
    return Alarm(used=used, again_below=budget.warn_at - int(budget.usable * _HYSTERESIS))


def lowered(alarm: Alarm, used: int) -> Alarm:
    """Returns the alarm after a new figure: one that has not warned if `used` is below `again_below`, else the same
    alarm."""
    return Alarm() if alarm.again_below is not None and used < alarm.again_below else alarm


def level(used: int, budget: ContextBudget | None) -> Level:
    """Returns the level of `used` tokens: `critical` from the compaction threshold, `warning` from the warning
    threshold, else `normal`. Returns `off` if there is no budget."""
    if budget is None:
        return Level.OFF
    if used >= budget.compact_at:
        return Level.CRITICAL
    return Level.WARNING if used >= budget.warn_at else Level.NORMAL
