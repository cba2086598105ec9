"""How long agents keep their transcripts, and the setting that makes them keep them."""

from collections.abc import Callable

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject


class Retention(Struct, frozen=True, kw_only=True):
    """When an agent deletes its transcripts by itself.

    - `patterns`: returns glob patterns for the files with the user's settings.
    - `days_in`: reads from such settings after how many days without a change a transcript is deleted; `inf` if never.
      Returns None if they don't say it.
    - `default`: the days if no settings say it.
    - `setting`: what the user writes into that file so that no transcript is deleted, as JSON.
    """

    patterns: Callable[[Machine], tuple[str, ...]]
    days_in: Callable[[JsonObject], float | None]
    default: float
    setting: str
