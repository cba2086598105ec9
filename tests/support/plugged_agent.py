"""A real agent that runs Ullage by a plugin, in a home folder of its own, with the requests that it sends to a model on
the loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.agents.model_server import ModelServer
from support.agents.runs import OneShot
from support.command_line import ullage
from support.hook_place import arrivals_at
from support.receipts import receipts_of
from ullage.lost.left_out import HEAD

DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."


class PluggedAgent:
    """An agent with what `ullage wire WORD` adds. `asking` are words of its own request for a summary; the brief speaks
    of summaries, too."""

    def __init__(self, shot: OneShot, word: str, asking: str, home: Path, model: ModelServer) -> None:
        if not shot.known.program.exists():
            pytest.skip(f"{word} is not installed; scripts/rigs/agents.sh gets it")
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
