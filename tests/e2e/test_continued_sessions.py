"""Sessions that `ullage continue` wrote, resumed by the real agents with a model on the loopback: they send what was
asked for, or what they sent before a compaction of their own, and leave the original as it was."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from support.agents.launch import Known, Launch, need
from support.agents.model_server import ModelServer
from support.agents.resumed import CLAUDE, CODEX, PROMPT, said, sent_items
from support.agents.runs import SUMMARY_WORDS, resume
from support.claude_log import ClaudeLog
from support.codex_files import call, compacted, counted, item, output, session
from support.codex_files import said as wrote
from support.command_line import ullage
from support.foreign import to_lines
from support.systems import needs_linux

Said = list[tuple[str, str]]
PATCH = "*** Begin Patch\n*** Update File: part1.py\n*** End Patch"
SUMMARY = "The table was renamed in two parts."


def claude_log(cwd: Path) -> bytes:
    """Returns a log with a compaction of the agent's own after the fourth message."""
    log = ClaudeLog(cwd=str(cwd), version="2.1.316").ask("Rename the table in every part.")
    log.read(f"{cwd}/part1.py", "def total(): ...\n").answer(9_000, text="One part is done.")
    log.ask("Go on.").answer(160_000, text="Another one is, too.")
    log.compact(167_000, summary=SUMMARY).ask("And the third?")
    return log.read(f"{cwd}/part3.py", "def tax(): ...\n").answer(9_000, text="The third is done.").data


def codex_log(cwd: Path) -> bytes:
    """Returns a session file with a compaction of the agent's own after the fifth message of the user."""
    return to_lines(
        session(id="7f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a", cwd=str(cwd), cli_version="0.166.0"),
        wrote("developer", "<permissions instructions> All is allowed."),
        wrote("user", "<environment_context>\n  <cwd>/home/me/old</cwd>\n</environment_context>"),
        wrote("user", "Rename the table in every part."),
        item("reasoning", summary=[], encrypted_content="gAAAA"),
        call("c1"),
        output("c1", "part1.py"),
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Done!"),
        wrote("assistant", "One part is done."),
        counted(9_000),
        wrote("user", "Go on."),
        wrote("assistant", "Another one is, too."),
        counted(240_000),
        compacted(SUMMARY, wrote("user", SUMMARY)),
        wrote("user", "And the third?"),
        wrote("assistant", "The third is done."),
        counted(9_500),
    )


async def sent_by_claude(model: ModelServer, launch: Launch, made: Any) -> Said:
    """Returns what Claude Code sends in the new session for a first prompt."""
    await resume(launch, CLAUDE.program, *made["command"][1:], "-p", PROMPT)
    requests = [said(json.loads(body)["messages"]) for body in model.asked]
    return [request for request in requests if ("user", PROMPT) in request][-1]


async def sent_by_codex(model: ModelServer, launch: Launch, made: Any) -> Said:
    """Returns what Codex sends in the new session for a first prompt."""
    assert made["command"][:2] == ["codex", "resume"]
    await resume(launch, CODEX.program, "exec", "--skip-git-repo-check", *made["command"][1:], PROMPT)
    # There is one request: nothing was compacted before the answer.
    (request,) = (json.loads(body)["input"] for body in model.asked)
    return sent_items(request)


class Agent(Struct, frozen=True, kw_only=True):
    """An agent, what writes its original, and what it sends. Its sessions are in `folders`, of a home folder, and the
    file of one is `depth` folders below that."""

    known: Known
    write: Callable[[Path], bytes]
    sent: Callable[[ModelServer, Launch, Any], Awaitable[Said]]
    folders: str
    depth: int


CLAUDE_CODE = Agent(known=CLAUDE, write=claude_log, sent=sent_by_claude, folders="claude/projects", depth=1)
CODEX_CLI = Agent(known=CODEX, write=codex_log, sent=sent_by_codex, folders="codex/sessions", depth=3)
FIRST, LAST = ("user", "Rename the table in every part."), ("assistant", "Another one is, too.")
CLAUDE_BEFORE = [
    FIRST,
    ("assistant", '{"file_path": "CWD/part1.py"}'),
    ("user", '"def total(): ...\\n"'),
    ("assistant", "One part is done."),
    ("user", "Go on."),
    LAST,
]
CLAUDE_AFTER = [
    ("user", SUMMARY),
    ("user", "And the third?"),
    ("assistant", '{"file_path": "CWD/part3.py"}'),
    ("user", '"def tax(): ...\\n"'),
    ("assistant", "The third is done."),
]
CODEX_BEFORE = [
    FIRST,
    ("assistant", '{"command": ["ls"]}'),
    ("user", '"part1.py"'),
    ("assistant", PATCH),
    ("user", '"Done!"'),
    ("assistant", "One part is done."),
    ("user", "Go on."),
    LAST,
]
CODEX_AFTER = [("user", SUMMARY), ("user", "And the third?"), ("assistant", "The third is done.")]
CHOICES = [
    pytest.param(CLAUDE_CODE, ("--before-compaction",), CLAUDE_BEFORE, id="claude-undo"),
    pytest.param(CLAUDE_CODE, (), CLAUDE_AFTER, id="claude-nothing to compact", marks=pytest.mark.long),
    pytest.param(CLAUDE_CODE, ("--after", "4"), CLAUDE_BEFORE[:4], id="claude-from a message", marks=pytest.mark.long),
    pytest.param(CODEX_CLI, ("--before-compaction",), CODEX_BEFORE, id="codex-undo"),
    pytest.param(CODEX_CLI, (), CODEX_AFTER, id="codex-nothing to compact", marks=pytest.mark.long),
    pytest.param(CODEX_CLI, ("--after", "8"), CODEX_BEFORE[:6], id="codex-from a message", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("agent", "choice", "expected"), CHOICES)
@needs_linux
async def test_the_agent_sends_what_was_asked_for(
    agent: Agent, choice: Sequence[str], expected: Said, tmp_path: Path
) -> None:
    need(agent.known)
    model = ModelServer()
    async with model.serving():
        launch = agent.known.launch(tmp_path, model.url)
        original = tmp_path / "original.jsonl"
        original.write_bytes(agent.write(launch.cwd))
        digest = sha256(original.read_bytes()).digest()
        made = ullage("continue", original, *choice, "--json", env=dict(launch.environment)).json
        sent = await agent.sent(model, launch, made)
    assert sent == [*((role, words.replace("CWD", str(launch.cwd))) for role, words in expected), ("user", PROMPT)]
    assert sha256(original.read_bytes()).digest() == digest
    written = Path(made["path"])
    assert written.parents[agent.depth] == tmp_path / agent.folders
    assert written.stem.endswith(made["session_id"])


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
        sent = await sent_by_claude(model, launch, made)
        written = [json.loads(line) for line in Path(made["path"]).read_text(encoding="utf-8").splitlines()]
    assert made["used"] - made["hidden"] <= 3_000 < made["before"] - made["hidden"]
    assert sent[: len(sent) - 1] == said(line["message"] for line in written if "message" in line)[: len(sent) - 1]
    archived = re.match(r"\[Compaction 1: (\d+) earlier messages are archived\.", sent[0][1])
    assert archived is not None
    # Each message is archived or sent; the summary and the prompt are sent, too. How many is a matter of their length.
    assert int(archived[1]) + len(sent) == log.data.count(b"\n") + 2
    # What the user asked for stays a message of its own.
    assert sent[1] == ("user", "Read every part. Never change legacy.py.")
    assert sent[-1] == ("user", PROMPT)


PROMPTS = ("Rename the table in every part.", f"Read these lines.\n{'def total(): ...' * 400}", "And the third part?")
_EXEC = ("exec", "--skip-git-repo-check")


def serving() -> ModelServer:
    model = ModelServer()
    model.until_summary, model.summary_words = True, SUMMARY_WORDS
    return model


def newest(home: Path, pattern: str) -> Path:
    return max(home.glob(pattern), key=lambda file: file.stat().st_mtime_ns)


def undone(original: Path, launch: Launch) -> Any:
    return ullage("continue", original, "--before-compaction", "--json", env=dict(launch.environment)).json


@pytest.mark.long
@needs_linux
async def test_codex_sends_what_it_sent_before_its_compaction(tmp_path: Path) -> None:
    need(CODEX)
    model = serving()
    async with model.serving():
        launch = CODEX.launch(tmp_path, model.url)
        for number, prompt in enumerate(PROMPTS):
            await resume(launch, CODEX.program, *_EXEC, *(("resume", "--last") if number else ()), prompt)
        before = sent_items(json.loads(model.asked[-1])["input"])
        config = tmp_path / "codex" / "config.toml"
        usual = config.read_text()
        config.write_text(f"model_auto_compact_token_limit = 2000\n{usual}")
        await resume(launch, CODEX.program, *_EXEC, "resume", "--last", "Go on.")
        config.write_text(usual)
        made = undone(newest(tmp_path, "codex/sessions/*/*/*/*.jsonl"), launch)
        await resume(launch, CODEX.program, *_EXEC, *made["command"][1:], PROMPT)
        after = sent_items(json.loads(model.asked[-1])["input"])
    assert after == [*before, ("assistant", "This is answer 3."), ("user", PROMPT)]


@pytest.mark.long
@needs_linux
async def test_claude_code_sends_what_it_sent_before_its_compaction(tmp_path: Path) -> None:
    need(CLAUDE)
    model = serving()
    async with model.serving():
        launch = CLAUDE.launch(tmp_path, model.url)
        for number, prompt in enumerate(PROMPTS):
            await resume(launch, CLAUDE.program, *(("-c",) if number else ()), "-p", prompt)
        before = said(json.loads(model.asked[-1])["messages"])
        await resume(launch, CLAUDE.program, "-c", "-p", "/compact")
        await resume(launch, CLAUDE.program, "-c", "-p", "Go on.")
        made = undone(newest(tmp_path, "claude/projects/*/*.jsonl"), launch)
        await resume(launch, CLAUDE.program, *made["command"][1:], "-p", PROMPT)
        after = said(json.loads(model.asked[-1])["messages"])
    assert [role for role, _ in before] == ["user", "assistant"] * 2 + ["user"]
    assert after[: len(before)] == before
    assert after[len(before) :] == [("assistant", "This is answer 3."), ("user", PROMPT)]
