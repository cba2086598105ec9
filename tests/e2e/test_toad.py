"""toad, a client of the Agent Client Protocol in a terminal, with `ullage acp` and the proxy, as its user sees it."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest

from support.lsp_client import ROOT
from support.neovim import RIGS
from support.panes import Pane
from support.proxy_rig import TOY
from support.systems import needs_linux
from ullage.model.events import MessageAppended
from ullage.store import open_store

pytestmark = [needs_linux, pytest.mark.slow, pytest.mark.long]
TOAD = RIGS / "toad"
READY = "How can I help you today?"
# The footer says what has the keys. A list is shown before it has them.
PROMPT, QUESTION, MODES, COMMANDS = "⏎ Send", "aA Allow once", "Dismiss mode switcher", "Insert /command"
# Shown before the session's title while the agent answers.
BUSY = "⌛"
# As terminals with extended keys send it: it cannot be taken for the beginning of another key.
ESCAPE = "\x1b[27u"
SCRIPT = """
say: Good morning.
usage: 1200 30
---
tool: read_file {"path": "../outside.txt"}
usage: 1300 30
---
say: It was read.
---
tool: update_plan {"entries": [{"content": "Fill the cask", "priority": "high", "status": "in_progress"}]}
---
say: Planned.
---
say: It takes
wait: 36000
say: too long.
---
say: Here again.
"""


class Toad(Pane):
    """toad on a screen of its own, with a home of its own."""

    def __init__(self, folder: Path, command: tuple[str, ...]) -> None:
        super().__init__(folder / "terminal")
        project, home = folder / "project", folder / "home"
        project.mkdir()
        home.mkdir()
        self.store = folder / "s.db"
        agent = shlex.join(["env", f"PYTHONPATH={ROOT / 'server'}", *command])
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(TOAD / "packages"),
        }
        python = str(TOAD / "bin" / "python3.14")
        self.start([python, "-m", "toad", "acp", agent, str(project)], environment, (150, 60), folder)
        # Before the session is open, toad takes no prompt. It shows the mode then.
        self.shows(READY, "  Ask")

    def shows(self, *words: str) -> None:
        """Waits until the screen shows all words."""
        self.wait(lambda text: all(word in text for word in words))

    def idles(self) -> None:
        """Waits until the agent has answered and toad takes a prompt."""
        self.wait(lambda text: all(word in text for word in (READY, PROMPT)) and BUSY not in text)

    def says(self, text: str) -> None:
        """Sends a prompt."""
        self.idles()
        self.type("-l", text)
        self.shows(text)
        self.type("Enter")

    def command(self, name: str, about: str) -> None:
        """Sends a slash command as a user chooses it from toad's list, in which `about` describes it."""
        self.idles()
        self.type("-l", "/")
        self.shows(about, COMMANDS)
        self.type("-l", name)
        # The list has the command alone.
        self.wait(lambda text: about in text and "toad:about" not in text)
        self.type("Enter")
        self.wait(lambda text: f"❯ /{name}" in text and PROMPT in text and about not in text)
        self.type("Enter")

    def interrupts(self) -> None:
        """Stops the answer by Escape. toad takes two for it within three seconds, and one more closes a suggestion."""

        def is_stopped(text: str) -> bool:
            if BUSY in text and "Turn cancelled" not in text:
                self.type("-l", ESCAPE)
            return BUSY not in text

        self.shows(BUSY)
        self.wait(is_stopped)

    def recorded(self) -> list[str]:
        """Returns the texts of the one session's messages, without a system prompt."""
        with open_store(self.store) as store:
            (listed,) = store.list()
            events = [record.event for record in store.read(listed.session_id)]
        messages = [event.message for event in events if isinstance(event, MessageAppended)]
        return [message.text for message in messages if message.role.value != "system"]


StartToad = Callable[..., Toad]


@pytest.fixture
def start(tmp_path: Path, lacking: Callable[[str], Never]) -> Iterator[StartToad]:
    if not (TOAD / "bin" / "python3.14").exists():
        lacking("toad (scripts/rigs/toad.sh)")
    if shutil.which("tmux") is None:
        lacking("tmux")
    started: list[Toad] = []

    def begin(*arguments: str) -> Toad:
        command = (sys.executable, "-m", "ullage", "acp", "--store", str(tmp_path / "s.db"), *arguments)
        started.append(Toad(tmp_path, command))
        return started[-1]

    yield begin
    for toad in started:
        toad.stop()


def test_a_user_of_toad_is_answered_asked_shown_a_plan_and_stopped(start: StartToad, tmp_path: Path) -> None:
    (tmp_path / "script.txt").write_text(SCRIPT)
    (tmp_path / "outside.txt").write_text("The cask holds ninety litres.")
    provider = {"kind": "scripted", "file": str(tmp_path / "script.txt"), "models": ["gpt-4o"]}
    settings = {"model": "gpt-4o", "providers": {"script": provider}, "summary": {"writer": "offline"}}
    toad = start("--settings", json.dumps(settings))
    toad.says("Good morning?")
    toad.shows("Good morning.", "1.2K (")
    toad.says("Read it")
    toad.shows("Allow", "Reject", QUESTION)
    toad.type("a")
    toad.shows("It was read.")
    toad.says("Plan it")
    toad.shows("Fill the cask", "Planned.")
    toad.command("context", "Show how full the context is")
    toad.shows("Context: 1% (", "Tool results:")
    toad.idles()
    toad.type("C-o")
    toad.shows("Only read, and end with a plan", MODES)
    toad.type("Down", "Enter")
    toad.wait(lambda text: "Only read, and end with a plan" not in text and text.rstrip().count("Plan") > 1)
    toad.says("Tell it slowly")
    toad.shows("It takes")
    toad.interrupts()
    toad.says("Are you there?")
    toad.shows("Here again.")
    toad.stop()
    said = toad.recorded()
    assert said[:2] == ["Good morning?", "Good morning."]
    assert said[-4:] == ["Tell it slowly", "It takes", "Are you there?", "Here again."]


def test_a_user_of_toad_sees_the_figure_and_compactions_of_an_agent_behind_the_proxy(start: StartToad) -> None:
    toad = start("--", sys.executable, str(TOY), json.dumps({"usage": True, "window": 8_000}))
    toad.says("First cask")
    toad.shows("First cask", "%)")
    toad.command("compact", "Make room in the context")
    toad.shows("Compacted ")
    toad.command("undo", "Take the last compaction")
    toad.shows("Undone")
    toad.command("context", "Show how full the context is")
    toad.shows("Messages:")
    toad.stop()
    assert toad.recorded()[0] == "First cask"
