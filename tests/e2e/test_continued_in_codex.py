"""Sessions that `ullage continue` wrote for Codex, resumed by the real program with a model on the loopback: it sends
what was asked for, and leaves the original as it was."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.agents.launch import Launch, need
from support.agents.model_server import ModelServer
from support.agents.resumed import CODEX, PROMPT, resume, sent_items
from support.codex_files import call, compacted, counted, item, output, said, session
from support.command_line import ullage
from support.foreign import to_lines
from support.systems import needs_linux

CONTEXT = "<environment_context>\n  <cwd>/home/me/old</cwd>\n</environment_context>"
PATCH = "*** Begin Patch\n*** Update File: part1.py\n*** End Patch"
SUMMARY = "The table was renamed in two parts."


def shop(cwd: Path) -> list[Any]:
    """Returns a session file with a compaction of the agent's own after the fifth message of the user."""
    return [
        session(id="7f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a", cwd=str(cwd), cli_version="0.166.0"),
        said("developer", "<permissions instructions> All is allowed."),
        said("user", CONTEXT),
        said("user", "Rename the table in every part."),
        item("reasoning", summary=[], encrypted_content="gAAAA"),
        call("c1"),
        output("c1", "part1.py"),
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Done!"),
        said("assistant", "One part is done."),
        counted(9_000),
        said("user", "Go on."),
        said("assistant", "Another one is, too."),
        counted(240_000),
        compacted(SUMMARY, said("user", SUMMARY)),
        said("user", "And the third?"),
        said("assistant", "The third is done."),
        counted(9_500),
    ]


BEFORE = [
    ("user", "Rename the table in every part."),
    ("assistant", '{"command": ["ls"]}'),
    ("user", '"part1.py"'),
    ("assistant", PATCH),
    ("user", '"Done!"'),
    ("assistant", "One part is done."),
    ("user", "Go on."),
    ("assistant", "Another one is, too."),
]
AFTER = [("user", SUMMARY), ("user", "And the third?"), ("assistant", "The third is done.")]
CHOICES = [
    pytest.param(("--before-compaction",), BEFORE, id="undo"),
    pytest.param((), AFTER, id="nothing to compact", marks=pytest.mark.long),
    pytest.param(("--after", "8"), BEFORE[:6], id="from a message", marks=pytest.mark.long),
]


async def sent_after(model: ModelServer, launch: Launch, made: Any) -> list[tuple[str, str]]:
    """Returns what Codex sends in the new session for a first prompt."""
    assert made["command"][:2] == ["codex", "resume"]
    await resume(launch, CODEX.program, "exec", "--skip-git-repo-check", *made["command"][1:], PROMPT)
    # There is one request: nothing was compacted before the answer.
    (request,) = (json.loads(body)["input"] for body in model.asked)
    return sent_items(request)


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
@needs_linux
async def test_codex_sends_what_was_asked_for(
    choice: Sequence[str], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    need(CODEX)
    model = ModelServer()
    async with model.serving():
        launch = CODEX.launch(tmp_path, model.url)
        original = tmp_path / "original.jsonl"
        original.write_bytes(to_lines(*shop(launch.cwd)))
        digest = sha256(original.read_bytes()).digest()
        made = ullage("continue", original, *choice, "--json", env=dict(launch.environment)).json
        sent = await sent_after(model, launch, made)
    assert sent == [*expected, ("user", PROMPT)]
    assert sha256(original.read_bytes()).digest() == digest
    written = Path(made["path"])
    assert written.parents[3] == tmp_path / "codex" / "sessions"
    assert written.stem.endswith(made["session_id"])
