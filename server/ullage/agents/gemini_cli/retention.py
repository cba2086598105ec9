"""After how long Gemini CLI deletes its conversations: from version 0.61 on at the latest, seen in its source
(`general.sessionRetention`)."""

import math
import re

from ullage.agents.machine import Machine
from ullage.agents.retention import Retention
from ullage.model.json_values import JsonObject, as_object, as_text

_AGE = re.compile(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


def _patterns(machine: Machine) -> tuple[str, ...]:
    return (f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json",)


def _days_in(settings: JsonObject) -> float | None:
    retention = as_object(as_object(settings.get("general")).get("sessionRetention"))
    if retention.get("enabled") is False:
        return math.inf
    age = _AGE.fullmatch(as_text(retention.get("maxAge")))
    return int(age[1]) * _DAYS[age[2]] if age else None


RETENTION = Retention(
    patterns=_patterns, days_in=_days_in, default=30, setting='"general": {"sessionRetention": {"enabled": false}}'
)
