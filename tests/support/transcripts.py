"""Real conversations that others recorded. They are outside the repository; without them tests are skipped."""

import os
from pathlib import Path

import pytest

ROOT = Path(
    os.environ.get("ULLAGE_TRANSCRIPTS")
    or Path(__file__).resolve().parents[2].parent / "shared" / "data" / "transcripts"
)
# Recordings of a protocol rather than of a conversation with a model.
PROTOCOL_LOGS = {"acp_logs", "lsp_logs"}
# Collections with files that no reader reads yet. Each is removed from this set when its reader is added.
NOT_READ_YET = {"agent_fixtures", "claude_code_entire", "gemini_cli", "live", "pi"}
_NOT_DATA = {"SOURCE.md", "LICENSE", "LICENSE.md"}


def conversation_files() -> list[Path]:
    """Returns every recorded conversation that Ullage can read, in a stable order; an empty list without the data."""
    return sorted(
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and path.name not in _NOT_DATA
        and not path.name.startswith("LICENSE")
        and path.relative_to(ROOT).parts[0] not in PROTOCOL_LOGS | NOT_READ_YET
    )


def conversation(relative: str) -> Path:
    """Returns one recorded conversation. Skips the test if it is missing."""
    path = ROOT / relative
    if not path.is_file():
        pytest.skip(f"recorded transcript {relative} is not on this machine (set ULLAGE_TRANSCRIPTS)")
    return path
