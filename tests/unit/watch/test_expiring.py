"""What agents are about to delete is known from their settings and the times of their files."""

import math
import os
from pathlib import Path

import pytest

from ullage.agents import claude_code, gemini_cli
from ullage.agents.machine import Machine
from ullage.watch.candidates import Expiring, find_expiring

DAY = 86_400
NOW = 1_800_000_000


def machine(home: Path) -> Machine:
    return Machine(system="linux", home=str(home))


def transcript(home: Path, days: float, name: str = "a") -> str:
    """Makes a transcript of Claude Code that last changed so many days ago."""
    path = home / ".claude" / "projects" / "-p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return str(path)


def expiring(home: Path, days: int = 7) -> Expiring:
    (found,) = find_expiring(machine(home), [claude_code.AGENT], (NOW + days * DAY) * 1000)
    return found


def test_transcripts_that_will_be_deleted_within_a_week_are_named(tmp_path: Path) -> None:
    over, soon, _ = (transcript(tmp_path, days, name) for days, name in ((40, "a"), (25, "b"), (20, "c")))
    found = expiring(tmp_path)
    assert (found.days, found.files, found.soon) == (30, 3, (over, soon))
    assert found.first_at == (NOW - 10 * DAY) * 1000
    assert found.settings_path == str(tmp_path / ".claude" / "settings.json")


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ('{"cleanupPeriodDays": 10}', 10),
        ('{"cleanupPeriodDays": 36500}', 36_500),
        ('{"cleanupPeriodDays": true}', 30),
        ('{"model": "opus"}', 30),
        ("{ not JSON", 30),
    ],
)
def test_the_period_is_that_of_the_users_settings(tmp_path: Path, settings: str, days: float) -> None:
    transcript(tmp_path, 15)
    (tmp_path / ".claude" / "settings.json").write_text(settings)
    found = expiring(tmp_path)
    assert found.days == days
    assert bool(found.soon) == (days == 10)


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ("{}", 30),
        ('{"general": {"sessionRetention": {"maxAge": "2w"}}}', 14),
        ('{"general": {"sessionRetention": {"enabled": false, "maxAge": "2w"}}}', math.inf),
    ],
)
def test_gemini_clis_retention_is_read(tmp_path: Path, settings: str, days: float) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "p" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-1.json").write_text("{}")
    (tmp_path / ".gemini" / "settings.json").write_text(settings)
    (found,) = find_expiring(machine(tmp_path), [gemini_cli.AGENT], NOW * 1000)
    assert found.days == days


def test_an_agent_without_transcripts_is_left_out(tmp_path: Path) -> None:
    assert find_expiring(machine(tmp_path), [claude_code.AGENT], NOW * 1000) == ()
