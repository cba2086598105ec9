"""Agents for a test in another language: `python -m support.agents.stand FOLDER`.

`tests` and `scripts` must be on Python's path. Each agent has a model of its own on the loopback, and a script that
starts it. The first line of output is a `Stand`; then each line of input is an `Order`, and its answer a `Standing`.
The models end with the input.
"""

import asyncio
import shlex
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from support.agents.model_server import ModelServer
from support.agents.runs import SEATED, SUMMARY_WORDS, Seated
from support.wire.replies import Say


class Stood(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent: the script that starts it, or None if it is not installed; and what `Seated` says of it."""

    script: str | None
    ready: str
    window: int
    compacts_at: int


class Stand(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was set up: the agents by their names, the folder that they trust, and the variables that name theirs."""

    agents: dict[str, Stood]
    project: str
    environment: dict[str, str]


class Order(Struct, frozen=True, kw_only=True, rename="camel"):
    """Asks for the `Standing` of an agent. With `inflated`, its model adds so many tokens to each usage from now on,
    until the agent asks for a summary. `says` are answers by a word of their prompts, and `summary` is the next
    summary; without them the model says what its requests are numbered."""

    agent: str
    inflated: int | None = None
    says: dict[str, str] = {}
    summary: str | None = None


class Standing(Struct, frozen=True, kw_only=True, rename="camel"):
    """The number of answers that an agent has asked for, and the size of its context as the agent itself says it; None
    before the first answer."""

    asked: int
    figure: int | None


class _Place:
    """An agent with its home folder and its model."""

    def __init__(self, agent: Seated, home: Path, model: ModelServer) -> None:
        self.agent, self._home, self._model = agent, home, model
        model.until_summary, model.summary_words = True, SUMMARY_WORDS
        launch = agent.known.launch(home, model.url)
        self.environment = launch.environment
        self._script = home / f"{agent.known.name}.sh"
        variables = (f"{name}={value}" for name, value in launch.environment.items())
        # Nothing of the editor's environment, which is the tests'.
        command = ["env", "-i", "TERM=xterm-256color", *variables, str(agent.known.program), *agent.arguments]
        self._script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')

    @property
    def stood(self) -> Stood:
        agent = self.agent
        script = str(self._script) if agent.known.program.exists() else None
        return Stood(script=script, ready=agent.ready, window=agent.window, compacts_at=agent.compacts_at)

    def follow(self, order: Order) -> Standing:
        if order.inflated is not None:
            self._model.inflated = order.inflated
        if order.summary is not None:
            self._model.summary = order.summary
        self._model.scripted |= {word: Say(text) for word, text in order.says.items()}
        try:
            figure = self.agent.figure(self._home)
        except (OSError, ValueError, KeyError, TypeError):
            # The agent has written nothing yet, or is just writing.
            figure = None
        return Standing(asked=len(self._model.asked), figure=figure)


async def serve(folder: Path) -> None:
    """Serves until the input ends."""
    async with AsyncExitStack() as stack:
        places: dict[str, _Place] = {}
        for agent in SEATED:
            model = ModelServer()
            await stack.enter_async_context(model.serving())
            places[agent.known.name] = _Place(agent, folder, model)
        environment = {name: value for place in places.values() for name, value in place.environment.items()}
        kept = {name: environment[name] for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
        stood = {name: place.stood for name, place in places.items()}
        _say(Stand(agents=stood, project=str(folder / "project"), environment=kept))
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = msgspec.json.decode(line, type=Order)
            _say(places[order.agent].follow(order))


def _say(value: Struct) -> None:
    sys.stdout.write(f"{msgspec.json.encode(value).decode()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
