"""Agents' conversations in a real Neovim, in a terminal: what agents write to their files is on the screen."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest

from support.agent_homes import Conversation, environment
from support.editors import EDITORS, SERVER, STORY_NEOVIMS, neovim, neovim_environment
from support.panes import Pane, wait_until
from support.systems import needs_linux

pytestmark = [pytest.mark.slow, pytest.mark.editor, needs_linux]

INIT = EDITORS / "nvim" / "tests" / "init.lua"


@pytest.fixture(params=STORY_NEOVIMS)
def nvim(request: pytest.FixtureRequest, lacking: Callable[[str], Never]) -> Path:
    return neovim(request.param) or lacking(f"Neovim {request.param}")


@pytest.fixture
def pane(nvim: Path, project: Path, tmp_path: Path, lacking: Callable[[str], Never]) -> Iterator[Pane]:
    """A Neovim in the project's folder."""
    if shutil.which("tmux") is None:
        lacking("tmux")
    pane = Pane(tmp_path / "tmux")
    terminal = {"TERM": "screen-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    variables = neovim_environment(tmp_path) | environment(tmp_path) | terminal
    pane.start([str(nvim), "--clean", "-u", str(INIT)], variables, folder=project)
    yield pane
    pane.stop()


@pytest.fixture
def conversation(tmp_path: Path, project: Path) -> Conversation:
    """A conversation about the project."""
    conversation = Conversation(tmp_path, project)
    conversation.say("Which port does the server have?", 40_000)
    return conversation


@pytest.fixture
def follower(tmp_path: Path, conversation: Conversation) -> Iterator[None]:
    """Another process of the user's, which follows the conversation."""
    store = tmp_path / "store.db"
    command = [SERVER, "--store", store, "watch", "--json"]
    with subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert conversation.id in process.stdout.readline()
        wait_until(store.with_name("store.db.live.json").exists)
        yield
        process.kill()


def bar(text: str) -> str:
    """Returns the statusline, the last line but one."""
    return text.splitlines()[-2]


@pytest.mark.usefixtures("follower")
def test_a_growing_conversation_is_in_the_statusline_and_no_server_is_started(
    conversation: Conversation, pane: Pane
) -> None:
    pane.wait(lambda text: "CC 20 %" in bar(text))
    conversation.say("And now?", 90_000)
    pane.wait(lambda text: "CC 45 %" in bar(text))
    pane.type(":lua print('the server is ' .. require('ullage.client').state)", "Enter")
    pane.wait(lambda text: "the server is off" in text)


@pytest.mark.usefixtures("follower", "conversation")
def test_the_terminals_own_conversation_is_shown_while_the_terminal_is_current(pane: Pane, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    pane.type(":terminal sh -c 'echo process $$ ends; sleep 600; :'", "Enter")
    shown = pane.wait(lambda text: bool(re.search(r"process \d+ ends", text)))
    found = re.search(r"process (\d+) ends", shown)
    assert found
    other = Conversation(tmp_path, elsewhere)
    other.say("Another question", 120_000)
    other.open_in(int(found[1]))
    pane.wait(lambda text: bar(text).rstrip().endswith("CC 60 %"))
    pane.type(":new", "Enter")
    pane.wait(lambda text: bar(text).rstrip().endswith("CC 20 %"))
    pane.type(":quit", "Enter", ":Ullage", "Enter")
    pane.wait(lambda text: "you        Another question" in text)


def refuse_to_keep(pane: Pane) -> None:
    """Answers the question that is asked before the first list: what would be kept, where, and how that ends."""
    shown = pane.wait(lambda text: "1: Keep 1 conversation, 1 MB now and at most 5 GB, in ~/store.db.archive" in text)
    assert "Keep them? `ullage keep off` ends that." in shown
    pane.type("3", "Enter")


def open_first(pane: Pane) -> None:
    """Chooses the first conversation of the list, and shows it in the whole screen."""
    # A conversation that has just been found is not known to be live for a moment.
    pane.wait(lambda text: "1: ● CC" in text or "1: ○ CC" in text)
    pane.type("1", "Enter")
    pane.wait(lambda text: "you        Which port does the server have?" in text)
    pane.type(":only", "Enter")


def expect_to_grow(pane: Pane, conversation: Conversation) -> None:
    """Checks that a conversation on the screen grows with its file, and shows its agent's compaction as a marker."""
    conversation.say("And the second one?", 150_000, "It has 8081.")
    shown = pane.wait(lambda text: "It has 8081." in text and "75% full" in text)
    assert "only read" in shown
    conversation.compact(150_000, "The ports are 8080 and 8081.")
    conversation.say("Go on.", 30_000, "I go on.")
    shown = pane.wait(lambda text: "◈ Compacted #1" in text and "I go on." in text)
    assert "▸ 4 archived messages" in shown
    pane.wait(lambda text: "15% full" in text)


def test_after_one_question_a_conversation_is_opened_and_grows(conversation: Conversation, pane: Pane) -> None:
    pane.type(":Ullage agents", "Enter")
    pane.wait(lambda text: "1: Follow them" in text)
    pane.type("1", "Enter")
    refuse_to_keep(pane)
    open_first(pane)
    expect_to_grow(pane, conversation)
    pane.type(":Ullage agents", "Enter")
    pane.wait(lambda text: "1: ● CC: 15 % of 200K" in text)


@pytest.mark.usefixtures("follower")
def test_a_conversation_that_another_process_follows_grows_as_well(conversation: Conversation, pane: Pane) -> None:
    pane.wait(lambda text: "CC 20 %" in bar(text))
    pane.type(":Ullage agents", "Enter")
    open_first(pane)
    expect_to_grow(pane, conversation)


@pytest.mark.usefixtures("follower")
def test_the_conversation_of_the_statusline_is_searched_without_being_opened_first(pane: Pane) -> None:
    pane.wait(lambda text: "CC 20 %" in bar(text))
    pane.type(":Ullage search port", "Enter")
    pane.wait(lambda text: "#1 Which port does the server have?" in text)
    pane.type(":only", "Enter", ":checkhealth ullage", "Enter")
    shown = pane.wait(lambda text: "Claude Code has the conversation, so it is only read" in text)
    assert ":Ullage undo takes" not in shown


@pytest.mark.usefixtures("conversation")
def test_what_only_the_agent_can_do_is_said(pane: Pane) -> None:
    pane.type(":lua require('ullage').setup({ follow = true, store = vim.env.ULLAGE_STORE })", "Enter")
    pane.wait(lambda text: "CC 20 %" in bar(text))
    pane.type(":Ullage agents", "Enter")
    refuse_to_keep(pane)
    open_first(pane)
    pane.type("p")
    pane.wait(lambda text: "Claude Code has this conversation; it is only read here." in text)
    pane.type("cc")
    shown = pane.wait(lambda text: "1: Copy /compact" in text)
    assert "Only Claude Code itself can compact this conversation (20 % of 200K" in shown
    pane.type("1", "Enter")
    pane.wait(lambda text: "Copied /compact" in text)
    pane.type(":lua require('ullage').append({ { role = 'user', content = 'Said by a plugin' } })", "Enter")
    shown = pane.wait(lambda text: "you        Said by a plugin" in text)
    assert "Which port" not in shown
