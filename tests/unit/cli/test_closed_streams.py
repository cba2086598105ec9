"""Commands that are started with a standard stream closed, or in a folder that was removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.systems import needs_signals

pytestmark = needs_signals


def ran(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a shell's line, in which `$U` is Ullage."""
    line = line.replace("$U", f"{sys.executable} -P -m ullage")
    return subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("words", ["--version", "context -", "context missing.jsonl", "import - --store s.db"])
def test_a_closed_stream_takes_and_gives_nothing(number: int, words: str, tmp_path: Path) -> None:
    done = ran(f"$U {words} {number}>&- {'' if number == 0 else '</dev/null'}", tmp_path)
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stdout + done.stderr


def test_a_store_does_not_get_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "Where is the bug?"}]', "utf-8")
    done = ran("$U import chat.json --store s.db >&-", tmp_path)
    assert "Traceback" not in done.stdout + done.stderr
    assert (tmp_path / "s.db").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("words", ["", "wire claude-code", "doctor"])
def test_a_folder_that_was_removed_is_named_as_the_fault(words: str, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = ran(f"cd gone && rmdir ../gone && $U {words}", tmp_path)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0 or "was removed; change to another one" in done.stderr
