"""A conversation that is continued from a real Neovim: the real agent runs in its terminal, in the session that was
asked for."""

import json
import os
from pathlib import Path

import pytest

from support.agents.launch import need
from support.agents.model_server import ModelServer
from support.agents.panes import HAS_TMUX, Pane, panes
from support.agents.resumed import said
from support.agents.runs import SEATED, SUMMARY_WORDS
from support.claude_log import ClaudeLog
from support.editors import EDITORS, NEOVIMS, neovim, neovim_environment
from support.systems import needs_linux

pytestmark = [pytest.mark.slow, pytest.mark.editor, needs_linux]

INIT = EDITORS / "nvim" / "tests" / "init.lua"
CLAUDE = SEATED[0]
PROMPT = "And the third part?"
RULE = "Never change src/shop/legacy.py without a migration."
# The newest version; the older one is as the newest in the tests of Lua.
NVIM = neovim(NEOVIMS[-1])


def shop(cwd: Path) -> ClaudeLog:
    """Returns a log with a compaction of the agent's own, whose summary lacks the user's rule."""
    log = ClaudeLog(cwd=str(cwd), version="2.1.316").ask(f"Rename the table in every part. {RULE}")
    log.read(f"{cwd}/part1.py", "def total(): ...\n").answer(160_000, text="One part is done.")
    return log.compact(167_000, summary="One part was renamed.").ask("Go on.").answer(9_000, text="Another one is.")


BEFORE = [
    ("user", f"Rename the table in every part. {RULE}"),
    ("assistant", '{"file_path": "CWD/part1.py"}'),
    ("user", '"def total(): ...\\n"'),
    ("assistant", "One part is done."),
]


async def continued(pane: Pane, original: Path) -> None:
    """Opens the conversation, and continues it as it was before the agent's compaction."""
    await pane.type(f":Ullage import {original}")
    await pane.until("ctx ")
    await pane.type(":Ullage context")
    await pane.until("◈ Compacted #1")
    await pane.type(":Ullage continue")
    await pane.until("2: Claude Code: as it was before its compaction")
    await pane.type("2")
    shown = await pane.until("# A new session of Claude Code")
    assert "claude --resume" in shown
    await pane.type(":write")


@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed (scripts/rigs/nvim.sh)")
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
async def test_the_agent_continues_in_a_terminal_of_neovim_as_before_its_compaction(tmp_path: Path) -> None:
    need(CLAUDE.known)
    model = ModelServer()
    model.summary_words = SUMMARY_WORDS
    async with model.serving():
        launch = CLAUDE.known.launch(tmp_path, model.url)
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "claude").symlink_to(CLAUDE.known.program)
        original = tmp_path / "original.jsonl"
        original.write_bytes(shop(launch.cwd).data)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        variables = {**neovim_environment(tmp_path), **launch.environment, "PATH": path, "LC_ALL": "C.UTF-8"}
        with panes(tmp_path) as opened:
            command = [str(NVIM), "--clean", "-u", str(INIT)]
            pane = opened.open("nvim", command, variables, launch.cwd)
            await continued(pane, original)
            await pane.until(CLAUDE.ready)
            await pane.type(PROMPT)
            await pane.until("This is answer")
        requests = [said(json.loads(body)["messages"]) for body in model.asked]
    sent = [request for request in requests if ("user", PROMPT) in request][-1]
    expected = [(role, words.replace("CWD", str(launch.cwd))) for role, words in BEFORE]
    assert sent == [*expected, ("user", PROMPT)]
