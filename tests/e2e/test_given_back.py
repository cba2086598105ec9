"""The real Claude Code with a model on the loopback, and what `ullage wire` adds: after a compaction, the next
request has what the summary left out, and Ullage's tools."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.agents.launch import Launch, need, prepare_of
from support.agents.model_server import ModelServer
from support.agents.panes import HAS_TMUX, panes
from support.agents.runs import SEATED, SUMMARY_WORDS, OneShot
from support.command_line import Ran, ullage
from support.editors import EDITORS, NEOVIMS, neovim, neovim_environment
from support.hook_place import arrivals_at, until_counted
from support.receipts import receipts_of
from support.systems import needs_linux
from support.wire.replies import Call
from ullage.lost import LONGEST
from ullage.lost.left_out import HEAD

RULE = "Never change src/shop/legacy.py without a migration."
ASKED = f"Rename the table in every part. {RULE}"
# With settings of the test's own.
_KNOWN = replace(SEATED[0].known, prepare=prepare_of("claude-agent-acp"))
# In this model's window, with this setting, Claude Code 2.1 compacts at 167,000 tokens.
_MODEL, _WINDOW, _COMPACTS_AT = "claude-opus-4-6", 200_000, 167_000
# Compactions of which none may go without its hooks.
_MANY = 50
_ARGUMENTS = ("--model", _MODEL, "-p")
# The newest version; the older one is as the newest in the tests of Lua.
NVIM = neovim(NEOVIMS[-1])
CLAUDE = OneShot(
    known=_KNOWN, first=_ARGUMENTS, again=("-c", *_ARGUMENTS), figure=lambda _: 0, compacts_at=_COMPACTS_AT
)


def settings(home: Path) -> Path:
    return home / "claude" / "settings.json"


def variables(launch: Launch) -> dict[str, str]:
    return {name: launch.environment[name] for name in ("HOME", "CLAUDE_CONFIG_DIR")}


class Wired:
    """The real agent with a model on the loopback, with what `ullage wire` adds."""

    def __init__(
        self, folder: Path, model: ModelServer, *options: str, permissions: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        need(_KNOWN)
        self.folder, self.model, self.store = folder, model, folder / "store.db"
        model.summary_words = SUMMARY_WORDS
        chosen = {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(_WINDOW)}, "permissions": permissions or {}}
        settings(folder).parent.mkdir(exist_ok=True)
        settings(folder).write_text(json.dumps(chosen, indent=2))
        self.before = settings(folder).read_bytes()
        assert self.run("wire", "claude-code", "--yes", *options).status == 0

    def run(self, command: str, *arguments: str) -> Ran:
        """Runs a command of Ullage's with the agent's environment."""
        ran = ullage(command, *arguments, "--store", self.store, env=variables(_KNOWN.launch(self.folder, "")))
        assert ran.err == ""
        return ran

    async def ask(self, prompt: str, *, again: bool = True) -> str:
        return await CLAUDE.request_with(self.folder, self.model, prompt, again=again)

    async def ask_until_compacted(self) -> tuple[str, str]:
        """Has it compact a conversation that began with the rule. Returns the last request before that and the first
        after it."""
        self.model.until_summary = True
        await self.ask(ASKED, again=False)
        self.model.inflated = _COMPACTS_AT
        return await self.ask("Which port is it?"), await self.ask("And the one beside it?")

    @property
    def rows(self) -> list[Any]:
        """The hooks that arrived."""
        return arrivals_at(self.store)


@pytest.mark.long
@needs_linux
async def test_all_hooks_of_many_compactions_arrive_and_each_brief_is_in_the_next_request(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        wired = Wired(tmp_path, model)
        # Each answer fills the context, so each prompt after the first is compacted before it is asked.
        model.inflated = _COMPACTS_AT
        await wired.ask(ASKED, again=False)
        given = 0
        for number in range(_MANY):
            request = await wired.ask(f"Which port has part {number}?")
            given += f"> #1 {ASKED}" in request.replace("\\n", "\n").splitlines()
        outcomes = Counter((row["event"], row["outcome"]) for row in wired.rows)
        assert given == _MANY, outcomes
        assert outcomes[("PreCompact", "begun")] == _MANY
        assert outcomes[("SessionStart compact", "given")] == _MANY, outcomes
        # Each run of the agent but the first two resumes a session that something was given to.
        assert outcomes[("SessionStart resume", "given")] == _MANY - 1, outcomes
        whys = Counter(receipt["why"] for receipt in receipts_of(wired.store))
        assert whys == {"compact": _MANY, "resume": _MANY - 1}


@pytest.mark.long
@needs_linux
async def test_the_model_is_given_one_note_of_its_fill(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        wired = Wired(tmp_path, model, "--fill-notes")
        # With what the agent itself adds to each request, between the first mark and the second.
        model.inflated = 138_000
        await wired.ask("Rename the table in every part.", again=False)
        await until_counted(wired.store)
        noted = await wired.ask("Which port is it?")
        assert noted.count("of 200,000 tokens (7") == 1
        again = await wired.ask("And the one beside it?")
        # The first one stays in the conversation.
        assert again.count("of 200,000 tokens (") <= 1
    assert [row["outcome"] for row in wired.rows] == ["note"]


@pytest.mark.long
@needs_linux
async def test_after_a_compaction_and_after_a_resume_the_next_request_has_what_was_left_out(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        wired = Wired(tmp_path, model)
        full, compacted = await wired.ask_until_compacted()
        assert HEAD[:40] not in full
        assert f"> #1 {ASKED}" in compacted.replace("\\n", "\n").splitlines()
        resumed = await wired.ask("And the third?")
        assert f"> #1 {ASKED}" in resumed.replace("\\n", "\n").splitlines()
        assert resumed.count(RULE) == 1
        # A first request does not wait long for the tools.
        assert any("mcp__ullage__ullage_search" in request for request in model.asked)
        # The request for the summary had it among its instructions.
        (steered, *_) = [request for request in model.asked if any(word in request for word in SUMMARY_WORDS)]
        assert f"> #1 {ASKED}" in steered.replace("\\n", "\n").splitlines()
    rows = wired.rows
    assert rows[0]["outcome"] == "begun"
    # 2.1.316 asks for a summary a second time if it has no tags.
    assert {row["outcome"] for row in rows[1:-2]} == {"kept"}
    assert [(row["event"], row["outcome"]) for row in rows[-2:]] == [
        ("SessionStart compact", "given"),
        ("SessionStart resume", "given"),
    ]
    assert all(row["characters"] <= LONGEST for row in rows)
    (hooks,) = [check for check in wired.run("doctor", "--json").json["checks"] if check["what"] == "hooks"]
    assert "gave back" in hooks["found"]
    assert wired.run("unwire", "--yes").status == 0
    assert settings(tmp_path).read_bytes() == wired.before
    # Claude Code has changed this file since.
    assert "mcpServers" not in json.loads((settings(tmp_path).parent / ".claude.json").read_text())


@pytest.mark.long
@needs_linux
async def test_after_a_summary_that_contradicts_the_record_the_next_request_says_so(tmp_path: Path) -> None:
    claim = "- Created: src/old_tax.py"
    model = ModelServer()
    async with model.serving():
        wired = Wired(tmp_path, model, permissions={"allow": ["Bash"]})
        old = _KNOWN.launch(tmp_path, "").cwd / "src" / "old_tax.py"
        old.parent.mkdir()
        old.write_text("RATE = 19\n")
        model.summary = f"<analysis>All is said.</analysis>\n<summary>\n{claim}\n- {ASKED}\n</summary>"
        model.scripted["every part"] = Call("toolu_1", "Bash", json.dumps({"command": "rm src/old_tax.py"}))
        _, compacted = await wired.ask_until_compacted()
        assert not old.exists()
        lines = compacted.replace("\\n", "\n").splitlines()
        (at,) = [place for place, line in enumerate(lines) if line.startswith("> deleted: src/old_tax.py (#")]
        assert lines[at + 1] == f">   ≠ the summary says: {claim}"


@pytest.mark.long
@pytest.mark.editor
@needs_linux
@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed (scripts/rigs/nvim.sh)")
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
async def test_what_its_hook_gave_back_is_on_the_screen_of_neovim(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        wired = Wired(tmp_path, model)
        _, compacted = await wired.ask_until_compacted()
        assert f"> #1 {ASKED}" in compacted.replace("\\n", "\n").splitlines()
    (receipt,) = receipts_of(wired.store)
    launch = _KNOWN.launch(tmp_path, "")
    surroundings = {**neovim_environment(tmp_path), **launch.environment, "LC_ALL": "C.UTF-8"}
    init = EDITORS / "nvim" / "tests" / "init.lua"
    with panes(tmp_path) as opened:
        # Keys that were typed right after its first screen have been lost.
        follow = "lua require('ullage').setup({ follow = true, store = vim.env.ULLAGE_STORE })"
        arguments = [str(NVIM), "--clean", "-u", str(init), "-c", follow]
        pane = opened.open("nvim", arguments, surroundings, launch.cwd)
        await pane.until(" CC ")
        await pane.type(":Ullage agents")
        await pane.until("3: Never")
        await pane.type("3")
        await pane.until(" CC: ")
        await pane.type("1")
        await pane.until(f"{receipt['tokens']} tokens given back")
        # The first Enter ends the search, and the second one opens the marker.
        await pane.type("/Compacted")
        await pane.type("")
        shown = await pane.until("all of it given back")
    assert "Left out: 2 messages; all of it given back" in shown
    assert f"Given back: {receipt['tokens']} tokens, " in shown
