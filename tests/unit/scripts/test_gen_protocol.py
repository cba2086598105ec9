"""The script that writes the generated parts of `protocol/` and the editors."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs the script in a copy of the repository."""
    command = [sys.executable, str(root / "scripts" / "gen_protocol.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_check_names_every_file_that_has_drifted_and_writing_mends_it(tmp_path: Path) -> None:
    others = shutil.ignore_patterns("node_modules", "test-results")
    for folder in ("protocol", "scripts", "editors", ".claude-plugin"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=others)
    shutil.copy(ROOT / "server.json", tmp_path)
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "guide" / "agents.md", tmp_path / "docs" / "guide")
    assert run(tmp_path, "--check").returncode == 0
    (tmp_path / "protocol" / "schema.json").unlink()
    (tmp_path / "editors" / "vscode" / "src" / "protocol.gen.ts").unlink()
    shutil.rmtree(tmp_path / ".claude-plugin")
    readme = tmp_path / "protocol" / "README.md"
    readme.write_text(readme.read_text().replace("| `session/new` |", "| `session/old` |"))
    checked = run(tmp_path, "--check")
    assert checked.returncode == 1
    named = [line.split()[0] for line in checked.stderr.splitlines()]
    assert named == [
        *("protocol/schema.json", "protocol/README.md", "editors/vscode/src/protocol.gen.ts"),
        ".claude-plugin/marketplace.json",
    ]
    assert run(tmp_path).returncode == 0
    assert run(tmp_path, "--check").returncode == 0
    assert readme.read_text() == (ROOT / "protocol" / "README.md").read_text()
