"""A compaction that the real agent made itself, undone by `ullage continue --before-compaction`: the agent sends
what it sent before."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.agents.launch import Launch, need
from support.agents.model_server import ModelServer
from support.agents.resumed import CLAUDE, CODEX, PROMPT, said, sent_items
from support.agents.runs import SUMMARY_WORDS, resume
from support.command_line import ullage
from support.systems import needs_linux

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
