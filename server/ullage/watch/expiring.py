"""Transcripts that their agents are about to delete, according to the agents' settings and the times of the files."""

import glob
import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ullage.agents.agent import Agent, Retention
from ullage.agents.machine import Machine
from ullage.watch.candidates import find_candidates
from ullage.watch.file_parts import read_small

_DAY = 86_400_000


class Expiring(Struct, frozen=True, kw_only=True):
    """What an agent deletes by itself. `days` is the time after the last change, `inf` if it deletes nothing. `files`
    counts its transcripts, `soon` are the paths of those that it will have deleted by the asked time, and `first_at`
    is when it deletes the first of them (Unix milliseconds, maybe in the past; 0 if there is none). `setting` goes
    into the file `settings_path` so that nothing is deleted."""

    agent: str
    days: float
    files: int
    soon: tuple[str, ...]
    first_at: int
    setting: str
    settings_path: str


def find_expiring(machine: Machine, agents: Sequence[Agent], by: int) -> tuple[Expiring, ...]:
    """Returns what each of these agents deletes by the time `by` (Unix milliseconds), for those that have transcripts
    and delete any by themselves. Reads no transcript."""
    return tuple(
        found for agent in agents if agent.retention and (found := _expiring(machine, agent, agent.retention, by))
    )


def _expiring(machine: Machine, agent: Agent, retention: Retention, by: int) -> Expiring | None:
    found = find_candidates(machine, [agent], [])
    candidates = [one for one in found if not one.sessions.is_sub_agent(one.name)]
    if not candidates:
        return None
    days = _days(machine, retention)
    ends = {one.path: one.updated_at + days * _DAY for one in candidates}
    soon = {path: int(end) for path, end in ends.items() if end <= by}
    return Expiring(
        agent=agent.name,
        days=days,
        files=len(candidates),
        soon=tuple(sorted(soon)),
        first_at=min(soon.values(), default=0),
        setting=retention.setting,
        settings_path=_unescaped(retention.patterns(machine)[0]),
    )


def _days(machine: Machine, retention: Retention) -> float:
    for pattern in retention.patterns(machine):
        for path in glob.iglob(pattern):  # noqa: PTH207 - an absolute pattern
            try:
                records = read_small(Path(path))
            except OSError:
                continue
            said = [days for record in records if (days := retention.days_in(record)) is not None]
            if said:
                return said[-1] if math.isfinite(said[-1]) else math.inf
    return retention.default


def _unescaped(pattern: str) -> str:
    """Returns the path that an escaped pattern without wildcards matches."""
    return pattern.replace("[[]", "[").replace("[*]", "*").replace("[?]", "?")
