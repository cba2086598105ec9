"""The story of `editors/vscode/test/e2e` in a real VS Code. `scripts/e2e` gets what it needs."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A fresh machine downloads VS Code, its parts and Chromium first; the story itself takes about two minutes, seconds.
PATIENCE = 1200.0


@pytest.mark.slow
def test_a_person_imports_compacts_previews_undoes_and_loses_nothing() -> None:
    story = subprocess.Popen([ROOT / "scripts" / "e2e", "vscode"], start_new_session=True)
    try:
        status = story.wait(PATIENCE)
    finally:
        if story.poll() is None:
            os.killpg(story.pid, signal.SIGKILL)
    assert status == 0, "screenshots and logs are in editors/vscode/test-results"
