"""Sessions that `ullage continue` wrote, resumed by the real agents with a model on the loopback: they send what was
asked for, and leave the original as it was."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.agents.launch import Launch, need
from support.agents.model_server import ModelServer
from support.agents.resumed import CLAUDE, PROMPT, resume, said
from support.claude_log import ClaudeLog
from support.command_line import ullage
from support.systems import needs_linux


def shop(cwd: Path) -> ClaudeLog:
    """Returns a log with a compaction of the agent's own after the fourth message."""
    log = ClaudeLog(cwd=str(cwd), version="2.1.316").ask("Rename the table in every part.")
    log.read(f"{cwd}/part1.py", "def total(): ...\n").answer(9_000, text="One part is done.")
    log.ask("Go on.").answer(160_000, text="Another one is, too.")
    log.compact(167_000, summary="The table was renamed in two parts.").ask("And the third?")
    return log.read(f"{cwd}/part3.py", "def tax(): ...\n").answer(9_000, text="The third is done.")


BEFORE = [
    ("user", "Rename the table in every part."),
    ("assistant", '{"file_path": "CWD/part1.py"}'),
    ("user", '"def total(): ...\\n"'),
    ("assistant", "One part is done."),
    ("user", "Go on."),
    ("assistant", "Another one is, too."),
]
AFTER = [
    ("user", "The table was renamed in two parts."),
    ("user", "And the third?"),
    ("assistant", '{"file_path": "CWD/part3.py"}'),
    ("user", '"def tax(): ...\\n"'),
    ("assistant", "The third is done."),
]
CHOICES = [
    pytest.param(("--before-compaction",), BEFORE, id="undo"),
    pytest.param((), AFTER, id="nothing to compact", marks=pytest.mark.long),
    pytest.param(("--after", "4"), BEFORE[:4], id="from a message", marks=pytest.mark.long),
]


async def sent_after(model: ModelServer, launch: Launch, made: Any) -> list[tuple[str, str]]:
    """Returns what Claude Code sends in the new session for a first prompt."""
    await resume(launch, CLAUDE.program, *made["command"][1:], "-p", PROMPT)
    requests = [said(json.loads(body)["messages"]) for body in model.asked]
    return [request for request in requests if ("user", PROMPT) in request][-1]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
@needs_linux
async def test_claude_code_sends_what_was_asked_for(
    choice: Sequence[str], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    need(CLAUDE)
    model = ModelServer()
    async with model.serving():
        launch = CLAUDE.launch(tmp_path, model.url)
        original = tmp_path / "original.jsonl"
        original.write_bytes(shop(launch.cwd).data)
        digest = sha256(original.read_bytes()).digest()
        made = ullage("continue", original, *choice, "--json", env=dict(launch.environment)).json
        assert Path(made["path"]).parent.parent == tmp_path / "claude" / "projects"
        sent = await sent_after(model, launch, made)
    wanted = [(role, words.replace("CWD", str(launch.cwd))) for role, words in expected]
    assert sent == [*wanted, ("user", PROMPT)]
    assert sha256(original.read_bytes()).digest() == digest


@pytest.mark.long
@needs_linux
async def test_claude_code_sends_a_compacted_session_message_by_message(tmp_path: Path) -> None:
    need(CLAUDE)
    model = ModelServer()
    async with model.serving():
        launch = CLAUDE.launch(tmp_path, model.url)
        log = ClaudeLog(cwd=str(launch.cwd)).ask("Read every part. Never change legacy.py.")
        for number in range(30):
            log.read(f"{launch.cwd}/part{number}.py", f"def part{number}(): ...\n" * 40).answer(9_000 + number)
        original = tmp_path / "original.jsonl"
        original.write_bytes(log.data)
        made = ullage("continue", original, "--budget", "3k", "--json", env=dict(launch.environment)).json
        sent = await sent_after(model, launch, made)
        written = [json.loads(line) for line in Path(made["path"]).read_text(encoding="utf-8").splitlines()]
    assert made["used"] - made["hidden"] <= 3_000 < made["before"] - made["hidden"]
    assert sent[: len(sent) - 1] == said(line["message"] for line in written if "message" in line)[: len(sent) - 1]
    assert sent[0][1].startswith("[Compaction 1: 65 earlier messages are archived.")
    # What the user asked for stays a message of its own.
    assert sent[1] == ("user", "Read every part. Never change legacy.py.")
    assert sent[-1] == ("user", PROMPT)
