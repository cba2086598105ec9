"""Real conversations that others recorded. They are outside the repository; without them tests are skipped."""

import os
from pathlib import Path

import pytest

from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.system.growing_files import read_transcript_file

ROOT = Path(
    os.environ.get("ULLAGE_TRANSCRIPTS")
    or Path(__file__).resolve().parents[2].parent / "shared" / "data" / "transcripts"
)
# Recordings of a protocol rather than of a conversation with a model.
PROTOCOL_LOGS = {"acp_logs", "lsp_logs"}
# Collections with files that no reader reads yet. Each is removed from this set when its reader is added.
NOT_READ_YET = {"agent_fixtures", "live"}
# The conversations that are read in collections which hold other files too.
AMONG_OTHERS = (
    *("live/qwen-code/*-*-*-*-*.jsonl", "live/qwen-code/subagents/*.jsonl", "agent_fixtures/qwen__*.jsonl"),
    *("live/gemini-cli/**/session-*.jsonl", "agent_fixtures/gemini__*"),
    # The other files refer to each other or are patched together; `unit/agents/codex/test_recorded.py` reads them.
    *("live/codex/[amnh]*.jsonl", "live/codex/remote_compaction.jsonl", "agent_fixtures/codex__[ls][ac]*"),
    *("live/copilot-cli/*/events.jsonl", "agent_fixtures/copilot__*"),
    *("agent_fixtures/cursor__*", "agent_fixtures/droid__*", "agent_fixtures/antigravity__*"),
    *("agent_fixtures/grok__*.jsonl", "agent_fixtures/hermes__*", "agent_fixtures/openclaw__small.jsonl"),
    "agent_fixtures/openclaw__large.jsonl",
    *("live/claude_code/**/*.jsonl", "agent_fixtures/claude__small.jsonl", "agent_fixtures/claude__subagent__*.jsonl"),
    *("live/opencode/opencode.db", "live/opencode/export.json", "live/kilo/kilo.db"),
    *("live/cline/*/*.messages.json", "live/openhands/*/base_state.json"),
    *("live/kimi-code/**/wire.jsonl", "agent_fixtures/kimi__*.jsonl"),
    *("live/aider/aider.chat.history.md", "live/mini-swe-agent/*.traj.json"),
    *("live/pi*/*.jsonl", "agent_fixtures/pi__*", "agent_fixtures/openclaw__small*", "agent_fixtures/openclaw__large*"),
)
_NOT_DATA = {"SOURCE.md", "LICENSE", "LICENSE.md"}


def conversation_files() -> list[Path]:
    """Returns every recorded conversation that Ullage can read, in a stable order; an empty list without the data."""
    whole = (
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and path.name not in _NOT_DATA
        and not path.name.startswith("LICENSE")
        and path.relative_to(ROOT).parts[0] not in PROTOCOL_LOGS | NOT_READ_YET
    )
    return sorted({*whole, *(path for pattern in AMONG_OTHERS for path in ROOT.glob(pattern))})


def model_conversation_files() -> list[Path]:
    """Returns those of `conversation_files` that a real model answered, whose name and usage are not made up."""
    return [path for path in conversation_files() if path.relative_to(ROOT).parts[0] not in ("live", "agent_fixtures")]


def conversation(relative: str) -> Path:
    """Returns one recorded conversation. Skips the test if it is missing."""
    path = ROOT / relative
    if not path.is_file():
        pytest.skip(f"recorded transcript {relative} is not on this machine (set ULLAGE_TRANSCRIPTS)")
    return path


def recorded(path: Path) -> ImportedTranscript:
    """Reads a recorded conversation with the files that belong to it."""
    return read_document(read_transcript_file(path))
