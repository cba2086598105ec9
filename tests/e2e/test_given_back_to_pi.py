"""The real pi with a model on the loopback, and what `ullage wire` adds: the prompt after a compaction has what the
summary left out, once, and the session keeps it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS
from support.hook_place import TRIES, until_counted
from support.plugged_agent import DECISION, PluggedAgent, places, run_instead
from support.systems import needs_linux
from ullage.lost import LONGEST

(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "pi"]
# Tokens of recent messages that it keeps.
_KEPT = 30
pytestmark = [pytest.mark.long, needs_linux]


def _prepare(home: Path, url: str) -> Mapping[str, str]:
    """Has it keep little at a compaction."""
    variables = _SHOT.known.prepare(home, url)
    (home / "pi" / "settings.json").write_text(json.dumps({"compaction": {"keepRecentTokens": _KEPT}}))
    return variables


PI = replace(_SHOT, known=replace(_SHOT.known, prepare=_prepare))


class Pi(PluggedAgent):
    """pi in a home folder of its own."""

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


async def test_the_prompt_after_a_compaction_has_what_the_summary_left_out_once(tmp_path: Path) -> None:
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


async def test_a_missing_broken_or_slow_ullage_changes_nothing(tmp_path: Path) -> None:
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


async def test_the_model_is_told_how_full_its_context_is_once(tmp_path: Path) -> None:
    async with ModelServer().serving() as model:
        agent = Pi(tmp_path, model)
        agent.run("wire", "--fill-notes")
        model.inflated = 72_000
        await agent.ask("Which port is it?", again=False)
        await until_counted(agent.store)
        told = json.dumps(await agent.ask("And the one beside it?"))
        assert told.count("of 100,000 tokens") == 1
        assert "It is compacted at 83,616 tokens" in told
        assert json.dumps(await agent.ask("And the third?")).count("of 100,000 tokens") == 1
        assert [row["outcome"] for row in agent.arrivals()] == ["note"]
