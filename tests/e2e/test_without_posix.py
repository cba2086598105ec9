"""Ullage runs without POSIX: without its modules and calls, as on Windows, every module imports and the core works."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.lsp_client import frame

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0


def run_bare(*arguments: object, given: bytes = b"") -> bytes:
    """Returns the output of a part of Ullage without POSIX. Raises if the part fails."""
    # Coverage's own start in a child process needs what is removed here.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    paths = os.pathsep.join(map(str, (ROOT / "tests", ROOT / "server")))
    done = subprocess.run(
        [sys.executable, "-m", "support.bare_system", *map(str, arguments)],
        input=given,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        env=env | {"PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def test_every_module_imports() -> None:
    modules = [path for path in (ROOT / "server" / "ullage").rglob("*.py") if path.parent.name != "ullage"]
    assert int(run_bare("import")) >= len(modules) > 300


def test_conversation_on_disk_is_appended_compacted_undone_and_searched(tmp_path: Path) -> None:
    found = json.loads(run_bare("core", tmp_path))
    assert found["removed"] > 0
    assert found["hits"] > 0
    assert found["smaller"]
    assert found["undone"]


def test_memory_tool_opens_its_folders_by_path(tmp_path: Path) -> None:
    found = json.loads(run_bare("memory", tmp_path))
    assert (found["errors"], found["by_path"]) == ([], True)
    assert "two" in found["last"]


def test_command_line_shows_how_full_a_transcript_makes_the_context(tmp_path: Path) -> None:
    transcript = tmp_path / "chat.json"
    transcript.write_text(json.dumps([{"role": "user", "content": "Where is the bug?"}]), encoding="utf-8")
    assert b"gpt-4o" in run_bare("command", "context", transcript, "--model", "gpt-4o")


def test_language_server_answers_over_stdio(tmp_path: Path) -> None:
    requests: tuple[dict[str, Any], ...] = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}},
        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    )
    given = b"".join(frame(request) for request in requests)
    answered = run_bare("command", "lsp", "--store", tmp_path / "sessions.db", given=given)
    assert b'"serverInfo"' in answered
    assert b'"id":2' in answered.replace(b" ", b"")
