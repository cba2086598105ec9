"""The tests of `editors/vscode/test` that need a real VS Code or a browser. `scripts/e2e` gets what they need."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Seconds. A fresh machine first downloads VS Code, its parts and Chromium; the tests then take about four minutes.
PATIENCE = 1200.0


@pytest.mark.slow
def test_the_story_the_newcomer_cancelling_restricted_folders_and_accessibility() -> None:
    story = subprocess.Popen([ROOT / "scripts" / "e2e", "vscode"], start_new_session=True)
    try:
        status = story.wait(PATIENCE)
    finally:
        if story.poll() is None:
            os.killpg(story.pid, signal.SIGKILL)
    assert status == 0, "screenshots and logs are in editors/vscode/test-results"
