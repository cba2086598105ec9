"""`ullage hook --fill-notes` as a real process: after a turn the context is counted, and the next prompt has a note if
one is due."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.codex_files import counted, said, session
from support.command_line import PATIENCE, Ran, ullage
from support.foreign import to_lines
from support.hook_place import ID, Place, answer, hook_place, is_silent, log

_TOKENS = 900_000
_GEMINI = (
    {"sessionId": ID, "projectHash": "x", "startTime": "2026-11-22T10:00:00Z", "kind": "main"},
    {"id": "u1", "timestamp": "2026-11-22T10:00:01Z", "type": "user", "content": [{"text": "Which port is it?"}]},
    {
        "id": "g1",
        "timestamp": "2026-11-22T10:00:02Z",
        "type": "gemini",
        "content": "8443.",
        "tokens": {"input": _TOKENS - 10, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": _TOKENS},
        "model": "gemini-2.5-flash",
    },
)
_CODEX = (session(), said("user", "Which port is it?"), said("assistant", "8443."), counted(240_000))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with hook_place(tmp_path) as made:
        yield made


def _asked_at(place: Place) -> int:
    figure = place.kept("figure")
    return json.loads(figure.read_bytes())["asked_at"] if figure.exists() else 0


def _prompted_after(
    place: Place, data: bytes, *options: str, ends: str = "Stop", asks: str = "UserPromptSubmit"
) -> Ran:
    """Ends a turn that has left the transcript with this content, and begins the next one."""
    place.transcript.write_bytes(data)
    began = time.time_ns()
    assert is_silent(place.hook(*options, hook_event_name=ends))
    until = time.monotonic() + PATIENCE
    while "--fill-notes" in options and _asked_at(place) < began and time.monotonic() < until:
        time.sleep(0.05)
    return place.hook(*options, hook_event_name=asks, prompt="Go on.")


def test_the_agent_is_told_its_fill_once_after_a_turn_and_again_after_a_compaction(place: Place) -> None:
    filled = log().answer(160_000)
    # Off by default.
    assert is_silent(_prompted_after(place, filled.data))
    assert not place.kept("figure").exists()
    note = answer(_prompted_after(place, filled.data, "--fill-notes"))
    shown = ullage("context", place.transcript, "--json", "--store", place.store).json
    assert note["hookEventName"] == "UserPromptSubmit"
    assert note["additionalContext"].startswith(f"Context: {shown['used']:,} of {shown['window']:,} tokens")
    assert is_silent(_prompted_after(place, filled.data, "--fill-notes"))
    (receipt,) = place.receipts
    assert (receipt.why, receipt.text, receipt.counts) == ("fill", note["additionalContext"], {})
    late = time.time_ns()
    place.given_back()
    assert not place.kept("figure").exists()
    # A count that was asked for before the compaction ends after it.
    counting = [sys.executable, "-m", "ullage.cli.hooks.counting", place.store, ID, place.transcript, str(late)]
    subprocess.run(counting, check=True, timeout=PATIENCE)
    assert _asked_at(place) == late
    assert is_silent(place.hook("--fill-notes", hook_event_name="UserPromptSubmit", prompt="Go on."))
    assert answer(_prompted_after(place, filled.data, "--fill-notes")) == note


@pytest.mark.parametrize(
    ("agent", "lines", "hooks", "options"),
    [
        ("codex", _CODEX, ("Stop", "UserPromptSubmit"), ()),
        ("gemini-cli", _GEMINI, ("AfterAgent", "BeforeAgent"), ("--mark", "<state_snapshot>")),
    ],
    ids=["codex", "gemini-cli"],
)
def test_each_agent_is_told_with_its_own_hooks(
    tmp_path: Path, agent: str, lines: tuple[object, ...], hooks: tuple[str, str], options: tuple[str, ...]
) -> None:
    (ends, asks), data = hooks, to_lines(*lines)
    with hook_place(tmp_path, agent, data) as place:
        note = answer(_prompted_after(place, data, "--fill-notes", *options, ends=ends, asks=asks))
        shown = ullage("context", place.transcript, "--json", "--store", place.store).json
        assert note["hookEventName"] == asks
        assert note["additionalContext"].startswith(f"Context: {shown['used']:,} of {shown['window']:,} tokens")
        assert is_silent(_prompted_after(place, data, "--fill-notes", *options, ends=ends, asks=asks))
