"""The core takes values and returns values, without clock, chance, I/O or SDKs (server/ARCHITECTURE.md)."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from structure import imports_of
from support.tables import every

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
CORE = (
    *("model", "jsonrpc", "tokens", "transcript", "formats", "redaction", "agents"),
    *("policy", "edits", "summary", "memory", "wire", "ledger", "lost"),
)
IMPURE = {"asyncio", "os", "random", "secrets", "socket", "sqlite3", "subprocess", "threading", "time", "uuid"}
SDKS = {"anthropic", "openai", "pygls", "lsprotocol", "rich", "platformdirs"}
# The packed vocabulary is data of the package, read on first use.
READS_A_FILE = {"tokens/vocabulary.py"}
# Caches that threads share need a lock. The core uses nothing else of `threading`.
LOCKS = {"tokens/counter.py", "tokens/vocabulary.py"}
HEAVY = (
    *("tiktoken", "sqlite3", "rich", "platformdirs", "anthropic", "openai", "pytest"),
    *("ullage.agents.table", "ullage.agents.transcripts", "ullage.redaction.redact_secrets"),
)


def core_modules() -> list[Path]:
    return sorted(path for package in CORE for path in (SOURCE / package).rglob("*.py"))


@every("path", core_modules())
def test_core_module_imports_nothing_impure(path: Path) -> None:
    allowed = {"threading"} if path.relative_to(SOURCE).as_posix() in LOCKS else set[str]()
    imported = {name.split(".")[0] for each in imports_of(path) for name in each.names()}
    assert not imported & (IMPURE | SDKS) - allowed
    text = path.read_text(encoding="utf-8")
    assert not any(f"from ullage.{package} import" in text for package in ("bounds", "host"))


@every("path", core_modules())
def test_core_module_has_no_coroutines_and_opens_no_file(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not any(isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in ast.walk(tree))
    opened = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"read_bytes", "read_text"}
    assert not opened or path.relative_to(SOURCE).as_posix() in READS_A_FILE


@pytest.mark.parametrize("door", ["language_server", "acp_agent", "serving_mcp"])
def test_serving_begins_without_importing_what_only_later_calls_need(door: str) -> None:
    program = f"import sys, ullage.app.{door}; print(*sys.modules)"
    # Coverage starts itself in child processes, and keeps its data in SQLite.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-c", program]
    modules = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=env)
    assert set(HEAVY) & set(modules.stdout.split()) == set()
