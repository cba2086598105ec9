"""The real opencode with a model on the loopback, and what `ullage wire` adds: each request after a compaction has what
the summary left out, once, at the same place, also in a session that is resumed, and Ullage's MCP server is offered."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.acp_end import PATIENCE
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS
from support.command_line import ullage
from support.hook_place import TRIES
from support.systems import needs_linux
from ullage.lost.brief import HEAD, LONGEST

DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "opencode"]
# Before it loads its first plugin, it installs packages into the new home folder.
OPENCODE = replace(_SHOT, patience=8 * PATIENCE)
pytestmark = [pytest.mark.long, needs_linux]


class Opencode:
    """opencode in a home folder of its own, with the requests that it has sent."""

    def __init__(self, home: Path, model: ModelServer) -> None:
        if not OPENCODE.known.program.exists():
            pytest.skip("opencode is not installed; scripts/rigs/agents.sh gets it")
        self.home, self.store, self._model = home, home / "store.db", model
        # Words of its own request for a summary; the brief speaks of summaries, too.
        model.until_summary, model.summary_words = True, ("conversation so far:",)
        environment = OPENCODE.known.launch(home, model.url).environment
        self._variables = {name: value for name, value in environment.items() if name != "PATH"}
        self.folder = home / "config" / "opencode"
        self.folder.mkdir(parents=True)

    def run(self, command: str, *options: str) -> None:
        ran = ullage(command, "opencode", "--yes", "--store", self.store, *options, env=self._variables)
        assert (ran.status, ran.err) == (0, "")

    async def ask(self, prompt: str, *, again: bool = True) -> list[Any]:
        """Returns the messages of the last request that has tools, after the system prompt."""
        known = len(self._model.asked)
        await OPENCODE.ask(self.home, self._model.url, prompt, again=again)
        requests = [json.loads(request) for request in self._model.asked[known:]]
        return [request["messages"][1:] for request in requests if request.get("tools")][-1]

    async def compact(self, words: str) -> list[Any]:
        """Has it say these words, and then compact. Returns the messages of the request after the compaction."""
        self._model.words = f" {words}"
        await self.ask("Which port is it?", again=False)
        self._model.words, self._model.inflated = "", 95_000
        return await self.ask("And the one beside it?")

    async def until_counted(self) -> None:
        """Waits until the context was counted after a turn."""
        async with asyncio.timeout(PATIENCE):
            while not [*self.store.with_name("store.db.hooks").glob("*.figure")]:
                await asyncio.sleep(0.05)

    def arrivals(self) -> list[Any]:
        path = self.store.with_name("store.db.hooks.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def why(self) -> list[str]:
        files = self.store.with_name("store.db.given").glob("*.jsonl")
        return [json.loads(line)["why"] for file in files for line in file.read_text().splitlines()]


def places(messages: list[Any]) -> list[int]:
    """Returns the numbers of the messages with a brief."""
    return [number for number, message in enumerate(messages) if HEAD[:40] in json.dumps(message)]


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
        assert f"> #2 {DECISION}" in brief.splitlines()
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
        # opencode has added the address of its schema to the settings.
        assert "ullage" not in (agent.folder / "opencode.jsonc").read_text()
        assert places(await agent.ask("And without Ullage?")) == []


async def test_a_missing_broken_or_slow_ullage_changes_nothing(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Opencode(tmp_path, model)
        agent.run("wire", "--no-mcp", "--fill-notes")
        program = tmp_path / "program"
        plugin = agent.folder / "plugin" / "ullage.js"
        text = plugin.read_text()
        (line,) = [line for line in text.splitlines() if line.startswith("const COMMAND = ")]
        plugin.write_text(text.replace(line, f'const COMMAND = ["{program}", "--fill-notes"];'))
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
        await agent.until_counted()
        told = json.dumps(await agent.ask("And the one beside it?"))
        assert told.count("of 100,000 tokens") == 1
        assert json.dumps(await agent.ask("And the third?")).count("of 100,000 tokens") == 1
        assert [row["outcome"] for row in agent.arrivals()] == ["note"]
