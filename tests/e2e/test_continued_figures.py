"""The size of a new session that `ullage continue` says, and what the provider counts once the real agent has resumed
it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from support.agents.launch import Known, need
from support.agents.model_server import ModelServer
from support.agents.resumed import CLAUDE, CODEX, PROMPT
from support.agents.runs import resume
from support.claude_log import ClaudeLog
from support.codex_files import counted as report
from support.codex_files import said, session
from support.command_line import ullage
from support.foreign import to_lines
from support.systems import needs_linux
from support.transcripts import ROOT
from support.wire.account import count_text

# The agents' words in commands.
WORDS = {"claude-agent-acp": "claude-code", "codex-acp": "codex"}
# The model's answers count so many tokens.
_ANSWER = 20
# What surrounds a prompt and its answer.
_AROUND = 10
# A conversation of about 20,000 tokens.
_TEXTS = tuple(
    (Path(__file__).parents[1] / "support" / name).read_text(encoding="utf-8")
    for name in (
        "claude_log.py",
        "codex_files.py",
        "followed_rig.py",
        "histories.py",
        "log_trees.py",
        "growing_files.py",
    )
)


class Resuming(Struct, frozen=True, kw_only=True):
    """An agent, its arguments before a first prompt and a further one, where its files are, and the arguments that
    resume a session before its id."""

    known: Known
    first: tuple[str, ...]
    again: tuple[str, ...]
    files: str
    resumes: tuple[str, ...]

    def newest(self, home: Path) -> Path:
        return max(home.glob(self.files), key=lambda file: file.stat().st_mtime_ns)


AGENTS = [
    pytest.param(
        Resuming(
            known=CLAUDE,
            first=("-p",),
            again=("-c", "-p"),
            files="claude/projects/*/*.jsonl",
            resumes=("-p", "--resume"),
        ),
        id="Claude Code",
    ),
    pytest.param(
        Resuming(
            known=CODEX,
            first=("exec", "--skip-git-repo-check"),
            again=("exec", "--skip-git-repo-check", "resume", "--last"),
            files="codex/sessions/*/*/*/*.jsonl",
            resumes=("exec", "--skip-git-repo-check", "resume"),
        ),
        id="Codex",
    ),
]


def last_usage(path: Path) -> int:
    """Returns the tokens of the last request with its answer, as the provider counted them."""
    found = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        record: Any = json.loads(line)
        usage = record.get("message", {}).get("usage")
        if usage:
            cached = usage.get("cache_read_input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
            found = usage["input_tokens"] + cached + usage["output_tokens"]
        info = record.get("payload", {}).get("info")
        if info:
            found = info["last_token_usage"]["total_tokens"]
    return found


@pytest.mark.long
@pytest.mark.parametrize("choice", [("--after", "8"), ("--budget", "6k")], ids=" ".join)
@pytest.mark.parametrize("agent", AGENTS)
@needs_linux
async def test_a_resumed_session_counts_what_was_shown(agent: Resuming, choice: Sequence[str], tmp_path: Path) -> None:
    need(agent.known)
    model = ModelServer()
    model.summary_words = ()
    async with model.serving():
        launch = agent.known.launch(tmp_path, model.url)
        for number, text in enumerate(_TEXTS):
            arguments = agent.again if number else agent.first
            await resume(launch, agent.known.program, *arguments, f"Look at this part.\n\n{text}")
        original = agent.newest(tmp_path)
        made = ullage("continue", original, *choice, "--json", env=dict(launch.environment)).json
        await resume(launch, agent.known.program, *agent.resumes, made["session_id"], PROMPT)
    assert agent.newest(tmp_path) == Path(made["path"])
    counted = last_usage(Path(made["path"])) - count_text(PROMPT) - _ANSWER
    assert abs(counted - made["used"]) <= 0.02 * made["used"]


@pytest.mark.long
@pytest.mark.parametrize("agent", AGENTS)
@needs_linux
async def test_a_session_of_the_other_agent_counts_what_was_shown(agent: Resuming, tmp_path: Path) -> None:
    need(agent.known)
    model = ModelServer()
    model.summary_words = ()
    async with model.serving():
        launch = agent.known.launch(tmp_path, model.url)
        # What the agent adds to each request is known from a conversation of its own.
        await resume(launch, agent.known.program, *agent.first, "What is in this folder?")
        original = tmp_path / "original.jsonl"
        original.write_bytes(other_conversation(agent.known, launch.cwd))
        arguments = ("--in", WORDS[agent.known.name], "--json")
        made = ullage("continue", original, *arguments, env=dict(launch.environment)).json
        await resume(launch, agent.known.program, *agent.resumes, made["session_id"], PROMPT)
    counted = last_usage(Path(made["path"])) - count_text(PROMPT) - _ANSWER
    assert 0 < made["hidden"] < made["used"]
    assert abs(counted - made["used"]) <= 0.02 * made["used"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        pytest.param(AGENTS[0].values[0], "agent_fixtures/codex__large.jsonl", id="Claude Code"),
        pytest.param(AGENTS[1].values[0], "claude_code_sessionshare/0ccf1a04-*.jsonl", id="Codex"),
    ],
)
@needs_linux
async def test_a_recorded_session_of_the_other_agent_counts_what_was_shown(
    agent: Resuming, name: str, tmp_path: Path
) -> None:
    need(agent.known)
    recorded = next(ROOT.glob(name), None)
    if recorded is None:
        pytest.skip("there are no shared transcripts")
    model = ModelServer()
    model.summary_words = ()
    async with model.serving():
        launch = agent.known.launch(tmp_path, model.url)
        await resume(launch, agent.known.program, *agent.first, "What is in this folder?")
        made = ullage(
            "continue", recorded, "--in", WORDS[agent.known.name], "--json", env=dict(launch.environment)
        ).json
        await resume(launch, agent.known.program, *agent.resumes, made["session_id"], PROMPT)
    counted = last_usage(Path(made["path"])) - count_text(PROMPT) - _ANSWER
    assert abs(counted - made["used"]) <= 0.02 * made["used"]


@pytest.mark.long
@pytest.mark.parametrize(("tokens", "fits"), [(160_000, True), (166_000, False)])
@needs_linux
async def test_claude_code_compacts_a_session_at_once_only_if_that_was_said(
    tokens: int, fits: bool, tmp_path: Path
) -> None:
    need(CLAUDE)
    model = ModelServer()
    async with model.serving():
        launch = CLAUDE.launch(tmp_path, model.url)
        original = tmp_path / "original.jsonl"
        log = ClaudeLog(cwd=str(launch.cwd), version="2.1.316").ask("Rename the table in every part.").answer(15_000)
        # By its characters alone, Claude Code would take this for more than its threshold.
        for number in range(10):
            log.ask(f"Part {number}: {'the table was renamed in this part ' * 2_000}")
            log.answer(tokens - 14_100 * (9 - number), output=0)
        original.write_bytes(log.data)
        # In this model's window, Claude Code 2.1 compacts at 167,000 tokens.
        environment = dict(launch.environment) | {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
        made = ullage("continue", original, "--after", "22", "--json", env=environment).json
        assert (made["used"], made["compacts_at"], made["fits"]) == (tokens, 167_000, fits)
        model.until_summary = True
        arguments = (*made["command"][1:], "--model", log.model, "-p", PROMPT)
        await resume(replace(launch, environment=environment), CLAUDE.program, *arguments)
    lines = [json.loads(line) for line in Path(made["path"]).read_text(encoding="utf-8").splitlines()]
    assert any(line.get("subtype") == "compact_boundary" for line in lines) is not fits


def other_conversation(known: Known, cwd: Path) -> bytes:
    """Returns a conversation of the agent that `known` is not. It shows how that agent's model counts."""
    if known is CODEX:
        log, tokens = ClaudeLog(cwd=str(cwd), version="2.1.316"), 15_000
        for text in _TEXTS:
            tokens += count_text(text) + _AROUND
            log.ask(text).answer(tokens, output=_ANSWER, text="Done.")
        return log.data
    lines, tokens = [session(id="7f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a", cwd=str(cwd), cli_version="0.166.0")], 15_000
    for text in _TEXTS:
        tokens += count_text(text) + _AROUND
        lines += [said("user", text), said("assistant", "Done."), report(tokens)]
    return to_lines(*lines)
