"""The TypeScript compiler of `editors/vscode`, for tests of generated TypeScript."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "editors" / "vscode" / "src" / "protocol.gen.ts"
_COMPILER = ROOT / "editors" / "vscode" / "node_modules" / "typescript-7" / "bin" / "tsc"
_OPTIONS = ("--noEmit", "--strict", "--exactOptionalPropertyTypes", "--pretty", "false", "--module", "preserve")
_SECONDS = 60


def has_compiler() -> bool:
    """Whether the extension's tools are installed."""
    return _COMPILER.exists()


def faults_of(source: str, folder: Path) -> list[str]:
    """Returns the compiler's errors in a file next to a copy of `protocol.gen.ts`."""
    (folder / PROTOCOL.name).write_text(PROTOCOL.read_text())
    (folder / "source.ts").write_text(source)
    command = [str(_COMPILER), *_OPTIONS, "source.ts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS)
    assert done.returncode == 0 or done.stdout, done.stderr
    return done.stdout.splitlines()
