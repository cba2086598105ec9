"""The real Claude Code with a model on the loopback, and Ullage installed as its plugin, from the marketplace file of
this repository: what `ullage wire` would add arrives, and if it has added that, too, nothing comes twice."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.agents.launch import need, prepare_of
from support.agents.model_server import ModelServer
from support.agents.runs import SEATED, SUMMARY_WORDS, OneShot, resume
from support.command_line import Ran, ullage
from support.documents import ROOT
from support.hook_place import TRIES, arrivals_at
from support.systems import needs_linux

ASKED = "Rename the table in every part. Never change src/shop/legacy.py without a migration."
# With settings of the test's own.
_KNOWN = replace(SEATED[0].known, prepare=prepare_of("claude-agent-acp"))
# In this model's window, with this setting, Claude Code 2.1 compacts at 167,000 tokens.
_MODEL, _WINDOW, _COMPACTS_AT = "claude-opus-4-6", 200_000, 167_000
_ARGUMENTS = ("--model", _MODEL, "-p")
CLAUDE = OneShot(
    known=_KNOWN, first=_ARGUMENTS, again=("-c", *_ARGUMENTS), figure=lambda _: 0, compacts_at=_COMPACTS_AT
)
_TOOL, _PLUGIN_TOOL = "mcp__ullage__ullage_search", "mcp__plugin_ullage_ullage__ullage_search"


class Home:
    """A home folder with the real agent, whose model is on the loopback. The program `ullage` is on PATH."""

    def __init__(self, folder: Path, model: ModelServer, patch: pytest.MonkeyPatch) -> None:
        need(_KNOWN)
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
        model.summary_words = SUMMARY_WORDS
        self.folder, self.model = folder, model
        self.settings = folder / "claude" / "settings.json"
        self.settings.parent.mkdir()
        self.settings.write_text(json.dumps({"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(_WINDOW)}}))

    async def plugin(self, *arguments: str) -> str:
        """Runs one of the agent's own commands for plugins. Returns its output."""
        return await resume(_KNOWN.launch(self.folder, self.model.url), _KNOWN.program, "plugin", *arguments)

    async def install(self) -> None:
        await self.plugin("marketplace", "add", str(ROOT))
        await self.plugin("install", "ullage@ullage")

    def ullage(self, *arguments: str) -> Ran:
        environment = _KNOWN.launch(self.folder, "").environment
        names = ("HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME")
        ran = ullage(*arguments, env={name: environment[name] for name in names})
        assert ran.err == ""
        return ran

    async def ask(self, prompt: str, *, again: bool = True) -> str:
        return await CLAUDE.request_with(self.folder, self.model, prompt, again=again)

    async def is_given(self) -> bool:
        """Says whether a prompt is asked with what was left out, once. On a busy machine that may be a later one than
        the first."""
        for number in range(TRIES):
            if count := given(await self.ask(f"And number {number}?")):
                return count == 1
        return False

    def check(self) -> tuple[str, str]:
        """What `ullage doctor` says of the plugin, and what the user shall do."""
        (check,) = [one for one in self.ullage("doctor", "--json").json["checks"] if one["what"] == "plugin"]
        return check["found"], check["remedy"]

    @property
    def rows(self) -> Sequence[Any]:
        """The hooks that arrived."""
        return arrivals_at(self.folder / "data" / "ullage" / "sessions.db")


def given(request: str) -> int:
    """How often a request has the rule as a quotation of what was left out."""
    return request.replace("\\n", "\n").splitlines().count(f"> #1 {ASKED}")


@pytest.mark.long
@needs_linux
async def test_what_a_compaction_left_out_and_the_tools_come_by_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelServer()
    async with model.serving():
        home = Home(tmp_path, model, monkeypatch)
        assert "passed" in await home.plugin("validate", "--strict", str(ROOT))
        assert "passed" in await home.plugin("validate", "--strict", str(ROOT / "editors" / "claude-code"))
        await home.install()
        model.until_summary = True
        assert "no hook has arrived yet" in home.check()[0]
        await home.ask(ASKED, again=False)
        model.inflated = _COMPACTS_AT
        # This one is asked with the whole conversation; the next one is compacted first.
        await home.ask("Which port is it?")
        assert await home.is_given()
        assert await home.is_given()
        # A first request does not wait long for the tools.
        assert any(_PLUGIN_TOOL in request for request in model.asked)
        assert not any(_TOOL in request for request in model.asked)
        outcomes = [row["event"] for row in home.rows if row["outcome"] == "given"]
        assert outcomes[-1] == "SessionStart resume"
        assert "gave back" in home.check()[0]
        arrived = len(home.rows)
        await home.plugin("uninstall", "ullage@ullage")
        await home.ask("And the last?")
        assert len(home.rows) == arrived


@pytest.mark.long
@needs_linux
async def test_a_plugin_gives_way_to_what_wire_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelServer()
    async with model.serving():
        home = Home(tmp_path, model, monkeypatch)
        home.ullage("wire", "claude-code", "--yes")
        await home.install()
        found, remedy = home.check()
        assert "twice" in found
        assert "ullage wire claude-code" in remedy
        home.ullage("wire", "claude-code", "--yes")
        assert home.check()[1] == ""
        model.inflated = _COMPACTS_AT
        await home.ask(ASKED, again=False)
        model.until_summary = True
        assert await home.is_given()
        assert await home.is_given()
        counted = Counter(row["event"] for row in home.rows)
        # A hook that a busy machine does not start in time is missing; none may come a second time.
        assert counted["PreCompact"] <= 1
        assert counted["SessionStart compact"] <= 1
        assert any(_PLUGIN_TOOL in request for request in model.asked)
        assert not any(_TOOL in request for request in model.asked)
