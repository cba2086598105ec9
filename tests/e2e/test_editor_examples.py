"""The clients of `editors/examples` do with the real server and the real editors what they say."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest

from support.editors import EDITORS, RIGS, SERVER
from support.followed_home import PROJECT, FollowedHome
from support.lsp_client import PATIENCE
from support.panes import Pane, wait_until
from support.program import language_server
from ullage.lsp.server import COMMANDS

EXAMPLES = EDITORS / "examples"
PYTHON_CLIENT = EXAMPLES / "ullage_client.py"
JAVASCRIPT_CLIENT = EXAMPLES / "ullage_client.mjs"
HELIX = RIGS / "helix" / "bin" / "hx"
SET_COMMAND = '(setq ullage-command (list (getenv "ULLAGE_SERVER") "lsp"))'
EMACS_PLAY = """
(setq default-directory "%s/")
(ullage-mode 1)
(with-timeout (%d) (while (string-empty-p ullage-mode-line) (accept-process-output nil 0.1)))
(message "mode line:%%s" ullage-mode-line)
(ullage-import "%s")
(ullage-compact "")
(ullage-undo)
(condition-case refused (ullage-undo) (user-error (message "refused: %%s" (cadr refused))))
(ullage-mode 0)
(message "mode line:%%s" ullage-mode-line)
"""


@pytest.fixture
def home(tmp_path: Path) -> FollowedHome:
    """A home folder in which Claude Code keeps one conversation of 20 % of its window."""
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    return home


def environment(home: FollowedHome) -> dict[str, str]:
    folders = {"HOME": str(home.folder), "CLAUDE_CONFIG_DIR": str(home.folder / ".claude")}
    program = {"ULLAGE_SERVER": str(SERVER), "ULLAGE_STORE": str(home.folder / "store.db")}
    return {**os.environ, "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", **folders, **program}


def transcript(folder: Path) -> Path:
    """Writes a conversation with something to compact."""
    log = "".join(f"tests/test_weather.py::test_{number} PASSED\n" for number in range(90))
    log += "\nIt fails on Sundays, as the log above shows."
    texts = [("user", "Why does it fail?"), ("assistant", log), ("user", "Good."), ("assistant", "Done.")]
    path = folder / "talk.json"
    messages = [{"role": role, "content": text} for role, text in texts]
    path.write_text(json.dumps({"model": "gpt-4o", "messages": messages}), encoding="utf-8")
    return path


def test_the_client_in_python_shows_a_compaction_from_its_begin_to_its_end(home: FollowedHome) -> None:
    command = [sys.executable, str(PYTHON_CLIENT), "compact", str(transcript(home.folder))]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=True)
    lines = done.stdout.splitlines()
    begin = lines.index("-- compaction in_progress")
    end = next(number for number, line in enumerate(lines) if line.endswith("-- compaction completed"))
    assert lines[begin + 1].startswith("## ")
    assert lines[begin - 1].startswith("[normal] 1 % (")
    assert lines[end + 1].startswith("[normal] 0 % (")


def test_the_client_in_python_says_why_it_is_refused(home: FollowedHome) -> None:
    command = [sys.executable, str(PYTHON_CLIENT), "compact", "/etc/hostname-that-is-not-there"]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "hostname-that-is-not-there" in done.stderr


def test_the_client_in_python_shows_the_conversations_of_agents_as_they_grow(home: FollowedHome) -> None:
    shown = home.folder / "shown"
    with shown.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, str(PYTHON_CLIENT), "watch"],
            stdin=subprocess.PIPE,
            stdout=stdout,
            env=environment(home),
            cwd=home.folder,
        )
    wait_until(lambda: "CC Which port?: 20 % (40,000 of 200,000)" in shown.read_text())
    home.say("And now?", 90_000)
    wait_until(lambda: "CC Which port?: 45 % (90,000 of 200,000)" in shown.read_text())
    assert process.stdin
    process.stdin.close()
    assert process.wait(PATIENCE) == 0


def test_the_client_in_javascript_shows_agents_and_carries_out_what_is_typed(
    home: FollowedHome, lacking: Callable[[str], Never]
) -> None:
    node = shutil.which("node") or lacking("Node 18 or newer")
    shown = home.folder / "shown"
    with shown.open("wb") as stdout:
        process = subprocess.Popen(
            [node, JAVASCRIPT_CLIENT],
            stdin=subprocess.PIPE,
            stdout=stdout,
            env=environment(home),
            cwd=home.folder,
            text=True,
        )
    wait_until(lambda: "CC Which port?: 20 % (40000 of 200000)" in shown.read_text())
    lines = [*(f"Question {number}: {'why? ' * 300}" for number in range(8)), "/context", "/compact", "/undo", "/undo"]
    process.communicate("\n".join(lines), PATIENCE)
    assert process.returncode == 0
    said = [line for line in shown.read_text().splitlines() if line.startswith(("[", "-- ", "Con", "Com", "Un", "the"))]
    figures = [line for line in said[:8] if line.startswith("[normal] ")]
    assert len(set(figures)) == len(figures) == 8
    assert [line.split(maxsplit=2)[0] for line in said[8:]] == [
        *("Context:", "--", "--", "[normal]", "Compacted", "[normal]", "Undone:", "there")
    ]
    assert said[9:11] == ["-- compaction in_progress", "-- compaction completed"]
    assert said[13] == figures[-1]


def test_emacs_shows_the_figure_in_the_mode_line_and_compacts(
    home: FollowedHome, lacking: Callable[[str], Never]
) -> None:
    emacs = shutil.which("emacs") or lacking("Emacs 28.1 or newer (Debian: emacs-nox)")
    play = home.folder / "play.el"
    play.write_text(EMACS_PLAY % (PROJECT, PATIENCE, transcript(home.folder)), encoding="utf-8")
    done = subprocess.run(
        [emacs, "--batch", "-Q", "-L", EXAMPLES, "-l", "ullage.el", "--eval", SET_COMMAND, "-l", play],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        check=True,
    )
    shown = [line for line in done.stderr.splitlines() if not line.startswith("[jsonrpc]")]
    assert shown[0] == "mode line: CC 20% of 200K"
    assert shown[1:4] == [
        "Ullage: imported, 1% of 128K",
        "Ullage: compaction in_progress",
        "Ullage: writing the summary…",
    ]
    assert shown[-5] == "Ullage: compaction completed"
    assert shown[-4].startswith("Ullage: Compacted 1 message: ")
    assert shown[-3] == "Ullage: undone"
    assert shown[-2].startswith("refused: Ullage: there is nothing to undo")
    assert shown[-1] == "mode line:"


def test_emacs_compiles_it_without_a_warning(tmp_path: Path, lacking: Callable[[str], Never]) -> None:
    emacs = shutil.which("emacs") or lacking("Emacs 28.1 or newer (Debian: emacs-nox)")
    shutil.copy(EXAMPLES / "ullage.el", tmp_path)
    command = [emacs, "--batch", "-Q", "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile"]
    subprocess.run([*command, tmp_path / "ullage.el"], check=True, timeout=PATIENCE)


async def begin(store: Path, folder: Path, talk: Path) -> None:
    """Starts a session of this folder, with the messages of the file `talk`."""
    async with language_server(store) as client:
        session = await client.request("ullage/session/new", {"model": "gpt-4o", "cwd": str(folder), "title": "Talk"})
        messages = json.loads(talk.read_text(encoding="utf-8"))["messages"]
        await client.request("ullage/session/append", {"sessionId": session["sessionId"], "messages": messages})
        await client.shutdown()


@pytest.fixture
def helix(home: FollowedHome, lacking: Callable[[str], Never]) -> Iterator[Pane]:
    """Helix with the example's files, in a folder whose conversation is imported."""
    if not HELIX.exists():
        lacking("Helix (scripts/rigs/helix.sh)")
    if not shutil.which("tmux"):
        lacking("tmux")
    settings, project = home.folder / ".config" / "helix", home.folder / "project"
    shutil.copytree(EXAMPLES / "helix", settings)
    languages = (settings / "languages.toml").read_text(encoding="utf-8")
    with_store = f'args = ["lsp", "--store", "{home.folder / "store.db"}"]'
    languages = languages.replace('command = "ullage"', f'command = "{SERVER}"').replace('args = ["lsp"]', with_store)
    (settings / "languages.toml").write_text(languages, encoding="utf-8")
    project.mkdir()
    (project / "notes.md").write_text("# Notes\n", encoding="utf-8")
    asyncio.run(begin(home.folder / "store.db", project, transcript(home.folder)))
    pane = Pane(home.folder / "tmux")
    runtime = {
        "HELIX_RUNTIME": str(RIGS / "helix" / "root" / "usr" / "lib" / "hx" / "runtime"),
        "XDG_CONFIG_HOME": str(settings.parent),
    }
    command = [str(HELIX), "-vv", "--log", str(home.folder / "helix.log"), "notes.md"]
    pane.start(command, environment(home) | runtime, (130, 20), project)
    try:
        yield pane
    finally:
        pane.stop()


def test_helix_shows_compacts_and_undoes_with_the_keys_of_the_example(helix: Pane, home: FollowedHome) -> None:
    helix.wait(lambda text: "# Notes" in text)
    log = home.folder / "helix.log"
    wait_until(lambda: log.exists() and '"ullage.context"' in log.read_text(encoding="utf-8", errors="replace"))
    helix.type(" ", "u", "c")
    helix.wait(lambda text: "“Talk”: Context: 1% (1K/128K tokens" in text)
    helix.type(" ", "u", "k")
    helix.wait(lambda text: "“Talk”: Compacted 1 message: " in text)
    helix.type(" ", "u", "u")
    helix.wait(lambda text: "Undone: " in text)
    helix.type(" ", "u", "u")
    helix.wait(lambda text: "there is nothing to undo" in text)


def test_the_files_for_helix_are_toml_and_name_commands_that_the_server_has() -> None:
    languages = tomllib.loads((EXAMPLES / "helix" / "languages.toml").read_text(encoding="utf-8"))
    assert languages["language-server"]["ullage"]["args"] == ["lsp"]
    keys = tomllib.loads((EXAMPLES / "helix" / "config.toml").read_text(encoding="utf-8"))["keys"]["normal"]["space"]
    named = {command.removeprefix(":lsp-workspace-command ") for command in keys["u"].values()}
    assert named == {command.name for command in COMMANDS} - {"ullage.import"}
