"""After how long Claude Code deletes its transcripts: at its start, by the time of their last change."""

from ullage.agents.claude_code.sessions import settings_pattern
from ullage.agents.machine import Machine
from ullage.agents.retention import Retention
from ullage.model.json_values import JsonObject


def _patterns(machine: Machine) -> tuple[str, ...]:
    return (settings_pattern(machine),)


def _days_in(settings: JsonObject) -> float | None:
    days = settings.get("cleanupPeriodDays")
    return float(days) if isinstance(days, int | float) and not isinstance(days, bool) else None


# The default is in the documentation ("Settings"). A period of 0 makes Claude Code write no transcripts at all, so a
# hundred years are what "never" is.
RETENTION = Retention(patterns=_patterns, days_in=_days_in, default=30, setting='"cleanupPeriodDays": 36500')
