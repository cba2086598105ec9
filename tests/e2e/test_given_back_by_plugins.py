"""The real opencode and pi with a model on the loopback, and what `ullage wire` adds, a plugin: after a compaction they
are given what the summary left out, once and at the same place, also in a session that is resumed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.acp_end import PATIENCE
from support.agents.launch import need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS, OneShot
from support.command_line import ullage
from support.hook_place import TRIES, arrivals_at, until_counted
from support.receipts import receipts_of
from support.systems import needs_linux
from ullage.lost import LONGEST
from ullage.lost.left_out import HEAD

DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."


class PluggedAgent:
    """An agent with what `ullage wire WORD` adds. `asking` are words of its own request for a summary; the brief speaks
    of summaries, too."""

    def __init__(self, shot: OneShot, word: str, asking: str, home: Path, model: ModelServer) -> None:
        need(shot.known)
        self.home, self.store, self.model = home, home / "store.db", model
        self._shot, self._word = shot, word
        model.until_summary, model.summary_words = True, (asking,)
        environment = shot.known.launch(home, model.url).environment
        self._variables = {name: value for name, value in environment.items() if name != "PATH"}

    def run(self, command: str, *options: str) -> None:
        ran = ullage(command, self._word, "--yes", "--store", self.store, *options, env=self._variables)
        assert (ran.status, ran.err) == (0, "")

    async def ask(self, prompt: str, *, again: bool = True) -> list[Any]:
        """Returns the messages of the last request that has tools, after the system prompt."""
        known = len(self.model.asked)
        await self._shot.ask(self.home, self.model.url, prompt, again=again)
        requests = [json.loads(request) for request in self.model.asked[known:]]
        return [request["messages"][1:] for request in requests if request.get("tools")][-1]

    def arrivals(self) -> list[Any]:
        return arrivals_at(self.store)

    def why(self) -> list[str]:
        return [receipt["why"] for receipt in receipts_of(self.store)]


def run_instead(plugin: Path, program: Path) -> None:
    """Has a plugin run another program than Ullage."""
    text = plugin.read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("const COMMAND = ")]
    plugin.write_text(text.replace(line, f'const COMMAND = ["{program}", "--fill-notes"];'))


def places(messages: list[Any]) -> list[int]:
    """Returns the numbers of the messages with a brief."""
    return [number for number, message in enumerate(messages) if HEAD[:40] in json.dumps(message)]


(_PI,) = [shot for shot in ONE_SHOTS if shot.known.name == "pi"]
# Tokens of recent messages that it keeps.
_KEPT = 30


def _prepare(home: Path, url: str) -> Mapping[str, str]:
    """Has it keep little at a compaction."""
    variables = _PI.known.prepare(home, url)
    (home / "pi" / "settings.json").write_text(json.dumps({"compaction": {"keepRecentTokens": _KEPT}}))
    return variables


PI = replace(_PI, known=replace(_PI.known, prepare=_prepare))


class Pi(PluggedAgent):
    """pi in a home folder of its own."""

    threshold = "It is compacted at 83,616 tokens"

    def __init__(self, home: Path, model: ModelServer) -> None:
        super().__init__(PI, "pi", "<conversation>", home, model)
        self.extension = home / "pi" / "extensions" / "ullage.js"

    async def compact(self, words: str) -> None:
        """Has it say these words, and then compact."""
        self.model.words = f" {words}"
        await self.ask("Which port is it?", again=False)
        self.model.words = ""
        await self.ask(f"And the one beside it? {'Look at all of them. ' * 20}")
        self.model.inflated = 95_000
        await self.ask("And the third?")


async def test_the_prompt_after_a_compaction_of_pi_has_what_the_summary_left_out_once(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Pi(tmp_path, model)
        agent.run("wire")
        await agent.compact(DECISION)
        messages = await agent.ask("And the fourth?")
        assert SUMMARY in json.dumps(messages)
        # The request for the summary had it among its instructions, and no other request.
        steered = [asked for asked in model.asked if "The summary must keep what follows" in asked]
        assert steered
        assert all("<conversation>" in asked for asked in steered)
        assert "> #2 Which port is it?" in steered[0].replace("\\n", "\n").splitlines()
        # On a busy machine the brief comes with a later prompt.
        for number in range(TRIES):
            if places(messages):
                break
            messages = await agent.ask(f"And number {number}?")
        assert places(messages) == [len(messages) - 1]
        (part,) = messages[-1]["content"]
        assert len(part["text"]) <= LONGEST
        # From 1.5 on the system prompt is a message of the file, the first.
        lines = part["text"].splitlines()
        assert [line for line in lines if line.startswith(("> #2 ", "> #3 ")) and line.endswith(DECISION)]
        known = len(agent.arrivals())
        again = await agent.ask("And the last one?")
        assert places(again) == [len(messages) - 1]
        assert again[: len(messages)] == messages
        # The session has it, so Ullage is not asked.
        assert len(agent.arrivals()) == known
        assert {row["event"] for row in agent.arrivals()} == {"PreCompact", "SessionStart resume"}
        agent.run("unwire")
        assert not agent.extension.parent.exists()


async def test_a_missing_broken_or_slow_ullage_changes_nothing_in_pi(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Pi(tmp_path, model)
        agent.run("wire", "--fill-notes")
        program = tmp_path / "program"
        run_instead(agent.extension, program)
        await agent.compact(DECISION)
        messages = await agent.ask("And the fourth?")
        assert SUMMARY in json.dumps(messages)
        for script in ("#!/bin/sh\necho '{'; exit 3\n", "#!/bin/sh\nexec sleep 600\n"):
            program.write_text(script)
            program.chmod(0o700)
            longer = await agent.ask("And another?")
            assert longer[: len(messages)] == messages
            messages = longer
        assert places(messages) == []


(_OPENCODE,) = [shot for shot in ONE_SHOTS if shot.known.name == "opencode"]
# Before it loads its first plugin, it installs packages into the new home folder.
OPENCODE = replace(_OPENCODE, patience=8 * PATIENCE)
pytestmark = [pytest.mark.long, needs_linux]


class Opencode(PluggedAgent):
    """opencode in a home folder of its own."""

    threshold = ""

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


async def test_each_request_after_a_compaction_of_opencode_has_what_the_summary_left_out_once(tmp_path: Path) -> None:
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
        # It puts the name of the server before that of the tool.
        assert any('"ullage_ullage_search"' in request for request in model.asked)
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


async def test_a_missing_broken_or_slow_ullage_changes_nothing_in_opencode(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("kind", [Opencode, Pi])
async def test_the_model_is_told_how_full_its_context_is_once(
    kind: Callable[[Path, ModelServer], Opencode | Pi], tmp_path: Path
) -> None:
    async with ModelServer().serving() as model:
        agent = kind(tmp_path, model)
        agent.run("wire", "--fill-notes")
        model.inflated = 72_000
        await agent.ask("Which port is it?", again=False)
        await until_counted(agent.store)
        told = json.dumps(await agent.ask("And the one beside it?"))
        assert told.count("of 100,000 tokens") == 1
        assert agent.threshold in told
        assert json.dumps(await agent.ask("And the third?")).count("of 100,000 tokens") == 1
        assert [row["outcome"] for row in agent.arrivals()] == ["note"]
