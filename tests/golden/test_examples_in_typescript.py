"""The generated TypeScript types fit every message on the wire, without a missing or an unknown member."""

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Never

import msgspec
import pytest

from support.example_messages import type_of
from ullage.model.settings import Settings

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


IMPORT = "import type * as protocol from './protocol.gen';\n"


@pytest.fixture(autouse=True)
def _compiler(lacking: Callable[[str], Never]) -> None:
    if not has_compiler():
        lacking("the TypeScript compiler of editors/vscode (npm ci)")


def assignments(messages: Iterable[tuple[str, Any]]) -> str:
    """Returns each message as a constant of its type. TypeScript refuses members in a literal that its type lacks."""
    return IMPORT + "".join(
        f"export const example{number}: protocol.{kind} = {json.dumps(message)};\n"
        for number, (kind, message) in enumerate(messages)
    )


def test_every_example_is_of_its_type(committed: Mapping[str, Any], tmp_path: Path) -> None:
    messages = [(type_of(name).__name__, message) for name, message in committed.items()]
    assert faults_of(assignments(messages), tmp_path) == []


def test_the_settings_defaults_and_no_settings_at_all_are_settings(tmp_path: Path) -> None:
    messages: list[tuple[str, Any]] = [("Settings", {}), ("Settings", msgspec.to_builtins(Settings()))]
    assert faults_of(assignments(messages), tmp_path) == []


def test_what_the_server_always_sends_may_not_be_missing(committed: Mapping[str, Any], tmp_path: Path) -> None:
    whole = committed["context.compact.result"]
    messages = [
        ("CompactResult", {name: value for name, value in whole.items() if name != left_out}) for left_out in whole
    ]
    assert len(faults_of(assignments(messages), tmp_path)) == len(whole)


def test_an_update_is_narrowed_by_its_tag(tmp_path: Path) -> None:
    source = """
export function used(update: protocol.Update): number | string | undefined {
  switch (update.sessionUpdate) {
    case 'usage_update': return update.used;
    case 'compaction_update': return update._meta?.ullage.compactionNumber;
    case 'compaction_summary_chunk': return update.content.text;
    case 'notice': return update._meta?.ullage.kind;
    case 'session_info_update': return update.title;
  }
}
"""
    assert faults_of(IMPORT + source, tmp_path) == []


def test_a_methods_constant_decides_what_its_params_and_result_are(tmp_path: Path) -> None:
    source = """
import { SessionAppend } from './protocol.gen';
declare function request<P, R>(method: protocol.Method<P, R>, params: NoInfer<P>): R;
export const ids: readonly string[] = request(SessionAppend, { sessionId: 's_1' }).messageIds;
// @ts-expect-error: the session is missing
request(SessionAppend, {});
// @ts-expect-error: no such member
request(SessionAppend, { sessionId: 's_1', message: [] });
"""
    assert faults_of(IMPORT + source, tmp_path) == []
