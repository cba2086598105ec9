"""The real opencode with a model on the loopback, and what `ullage wire` adds: each request after a compaction has what
the summary left out, once, at the same place, also in a session that is resumed, and Ullage's MCP server is offered."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.acp_end import PATIENCE
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS
from support.hook_place import TRIES, until_counted
from support.plugged_agent import DECISION, PluggedAgent, places, run_instead
from support.systems import needs_linux
from ullage.lost import LONGEST

(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "opencode"]
# Before it loads its first plugin, it installs packages into the new home folder.
OPENCODE = replace(_SHOT, patience=8 * PATIENCE)
pytestmark = [pytest.mark.long, needs_linux]


class Opencode(PluggedAgent):
    """opencode in a home folder of its own."""

    def __init__(self, home: Path, model: ModelServer) -> None:
        super().__init__(OPENCODE, "opencode", "conversation so far:", home, model)
        self.folder = home / "config" / "opencode"
        self.folder.mkdir(parents=True)

    async def compact(self, words: str) -> list[Any]:
        """Has it say these words, and then compact. Returns the messages of the request after the compaction."""
        self.model.words = f" {words}"
        await self.ask("Which port is it?", again=False)
        self.model.words, self.model.inflated = "", 95_000
        return await self.ask("And the one beside it?")


async def test_each_request_after_a_compaction_has_what_the_summary_left_out_once(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Opencode(tmp_path, model)
        agent.run("wire")
        settings = json.loads((agent.folder / "opencode.jsonc").read_text())
        assert settings["mcp"]["ullage"]["command"][-3:] == ["mcp", "--store", str(agent.store)]
        messages = await agent.compact(DECISION)
        assert SUMMARY in json.dumps(messages)
        # On a busy machine the brief comes with a later request.
        for number in range(TRIES):
            if places(messages):
                break
            messages = await agent.ask(f"And number {number}?")
        # The compaction, the summary, and the first message after it.
        assert places(messages) == [2]
        parts = messages[2]["content"]
        brief = parts[-1]["text"]
        assert len(brief) <= LONGEST
        assert [line for line in brief.splitlines() if line.startswith("> #2 ") and line.endswith(DECISION)]
        # The request for the summary had among its instructions what must be kept.
        (steered, *_) = [asked for asked in model.asked if "The summary must keep what follows" in asked]
        assert '> #1 \\"Which port is it?\\"' in steered.replace("\\n", "\n").splitlines()
        again = await agent.ask("And the last one?")
        assert places(again) == [2]
        assert again[2]["content"][-1]["text"] == brief
        assert any('"ullage_search"' in request for request in model.asked)
        assert {row["event"] for row in agent.arrivals()} <= {
            "PreCompact",
            "SessionStart compact",
            "SessionStart resume",
        }
        assert "resume" in agent.why()
        agent.run("unwire")
        assert not (agent.folder / "plugin").exists()
        # opencode has added the address of its schema to the settings, which `wire` had made.
        assert not (agent.folder / "opencode.jsonc").exists()
        assert places(await agent.ask("And without Ullage?")) == []


async def test_a_missing_broken_or_slow_ullage_changes_nothing(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Opencode(tmp_path, model)
        agent.run("wire", "--no-mcp", "--fill-notes")
        program = tmp_path / "program"
        run_instead(agent.folder / "plugin" / "ullage.js", program)
        messages = await agent.compact(DECISION)
        assert SUMMARY in json.dumps(messages)
        shape = [(message["role"], message["content"]) for message in messages]
        for script in ("#!/bin/sh\necho '{'; exit 3\n", "#!/bin/sh\nexec sleep 600\n"):
            program.write_text(script)
            program.chmod(0o700)
            messages = await agent.ask("And another?")
            assert [(message["role"], message["content"]) for message in messages][: len(shape)] == shape
        assert places(messages) == []


async def test_the_model_is_told_how_full_its_context_is_once(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Opencode(tmp_path, model)
        agent.run("wire", "--fill-notes")
        model.inflated = 72_000
        await agent.ask("Which port is it?", again=False)
        await until_counted(agent.store)
        told = json.dumps(await agent.ask("And the one beside it?"))
        assert told.count("of 100,000 tokens") == 1
        assert json.dumps(await agent.ask("And the third?")).count("of 100,000 tokens") == 1
        assert [row["outcome"] for row in agent.arrivals()] == ["note"]
