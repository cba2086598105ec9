"""The tests of `editors/vscode/test` that need a real VS Code or a browser. `scripts/e2e` gets what they need.

With `--all` one window is walked through, in which each part of the product and each kind of fault comes once, and the
pages of the view are checked for accessibility. With `--long` the stories run as well: each goes through one part in
full, with windows of its own.
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.systems import needs_linux

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "editors" / "vscode"
# Seconds. A fresh machine first downloads VS Code, its parts and Chromium; the walk then takes two minutes, and the
# stories seven, if nothing else runs, and several times as long on a busy machine.
PATIENCE = 2400.0

WALK = EXTENSION / "test" / "e2e" / "walk.test.ts"
PAGES = sorted((EXTENSION / "test" / "view").glob("*.test.mjs"))
STORIES = sorted(set((EXTENSION / "test" / "e2e").glob("*.test.ts")) - {WALK})

pytestmark = [pytest.mark.slow, pytest.mark.minutes, needs_linux]


def run(*files: Path) -> None:
    """Runs files of tests in turn. Fails if one of them does."""
    command = [ROOT / "scripts" / "e2e", "vscode", *files]
    tests = subprocess.Popen(command, start_new_session=True)
    try:
        status = tests.wait(PATIENCE)
    finally:
        if tests.poll() is None:
            os.killpg(tests.pid, signal.SIGKILL)
    assert status == 0, "screenshots and logs are in editors/vscode/test-results"


def test_the_walk_from_the_installation_to_a_trusted_folder_and_accessibility() -> None:
    run(WALK, *PAGES)


@pytest.mark.long
def test_the_stories_of_a_users_hour_a_chat_agents_a_newcomer_cancelling_and_restricted_folders() -> None:
    run(*STORIES)
