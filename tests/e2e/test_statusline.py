"""`ullage statusline` as a real process: one line, whatever it is given, and nothing else."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.command_line import Ran, ullage
from ullage.cli.statusline.files import read_told
from ullage.host.side_files import CATALOGUE, beside
from ullage.store.sqlite.catalogue import SqliteTold

# Seconds. A busy machine may be slow.
PATIENCE = 180
# Seconds for which a command runs that is not ended. No test waits so long.
_LONG = 600
ID = "f10688f0-27a4-47ee-ae8a-b95e4104ea01"
USAGE = {
    "input_tokens": 10,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 90_970,
}


def said(usage: Any = USAGE, **more: Any) -> dict[str, Any]:
    """Returns what an agent gives its status line."""
    window = {"context_window_size": 200_000, "current_usage": usage}
    return {"session_id": ID, "cwd": "/home/user/project", "context_window": window, **more}


def row(**more: Any) -> dict[str, Any]:
    """Returns a row of the live file."""
    known = {
        "session_id": "s_1",
        "agent": "Claude Code",
        "agent_session_id": ID,
        "cwd": "/home/user/project",
        "live": True,
        "process_id": None,
        "used": 91_000,
        "used_source": "reported",
        "window": 200_000,
        "compacts_at": 167_000,
        "calls_left": [12, 30],
    }
    return known | more


class Place:
    """A folder with a store's files. The live file's follower is this process, which runs."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "sessions.db"

    def show(self, *rows: dict[str, Any], follower: int | None = None) -> None:
        follower = os.getpid() if follower is None else follower
        live = {"version": 1, "at": 1, "follower": follower, "sessions": rows}
        self.store.with_name("sessions.db.live.json").write_bytes(msgspec.json.encode(live))

    def run(self, *arguments: str, given: Any = b"", env: dict[str, str] | None = None) -> Ran:
        stdin = given if isinstance(given, bytes) else msgspec.json.encode(given)
        env = {"COLUMNS": "", "NO_COLOR": "1", **(env or {})}
        return ullage("statusline", "--store", self.store, *arguments, env=env, stdin=stdin)

    def line(self, *arguments: str, given: Any = b"", **env: str) -> str:
        ran = self.run(*arguments, given=given, env=env)
        assert (ran.status, ran.err) == (0, "")
        return ran.out

    def age(self, at: int) -> None:
        """Has all that agents have said be said at a time, in Unix milliseconds."""
        with closing(sqlite3.connect(beside(self.store, CATALOGUE), isolation_level=None)) as catalogue:
            catalogue.execute("UPDATE told SET at = ?", (at,))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(PATIENCE)
    return process.pid


def test_a_line_has_the_agents_own_figure_and_where_it_compacts(place: Place) -> None:
    assert place.line(given=said()) == "◑ 46% · 91K/200K\n".replace("◑", "◔")
    place.show(row(agent_session_id="another", compacts_at=1), row())
    assert place.line(given=said()) == "◔ 46% · 91K/200K · compacts at 167K · 12+ calls left\n"


def test_the_most_important_parts_are_kept_where_there_is_little_room(place: Place) -> None:
    place.show(row())
    widths = {200: 52, 52: 52, 51: 35, 35: 35, 34: 16, 20: 16, 15: 5, 1: 5}
    lines = {width: place.line("--width", str(width), given=said()).rstrip("\n") for width in widths}
    assert {width: len(line) for width, line in lines.items()} == widths
    assert place.line(given=said(), COLUMNS="20") == "◔ 46% · 91K/200K\n"


@pytest.mark.parametrize("usage", [None, dict.fromkeys(USAGE, 0)])
def test_a_size_that_the_agent_does_not_know_is_a_question_mark(place: Place, usage: Any) -> None:
    assert place.line(given=said(usage)) == "? · ?/200K\n"
    # After a compaction, the process that follows may know more.
    place.show(row(used=30_000, used_source="estimated"))
    assert place.line(given=said(usage)).startswith("○ ~15% · 30K/200K")


def test_without_a_follower_only_what_does_not_change_is_taken_from_the_live_file(place: Place) -> None:
    place.show(row(), follower=dead_process())
    assert place.line(given=said()) == "◔ 46% · 91K/200K · compacts at 167K\n"
    place.show(row(window=1_000_000, compacts_at=967_000))
    assert place.line(given=said()) == "◔ 46% · 91K/200K\n"


@pytest.mark.parametrize("given", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_cannot_be_read_is_a_question_mark_and_no_error(place: Place, given: bytes) -> None:
    assert place.line(given=given) == "?\n"


@pytest.mark.parametrize("given", [b"[]", b"null", b'{"session_id": 5}', b'{"context_window": []}'])
def test_of_an_agent_that_says_nothing_yet_the_line_is_a_dash(place: Place, given: bytes) -> None:
    assert place.line(given=given) == "–\n"


def test_an_agent_that_says_no_figures_gets_those_of_its_transcript(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"usage": {"input_tokens": 1}}},
        {"type": "assistant", "message": {"usage": USAGE}},
        {"type": "assistant", "isSidechain": True, "message": {"usage": {"input_tokens": 7}}},
        {"type": "user", "message": {"content": "x" * 5_000}},
    ]
    old = {"session_id": ID, "transcript_path": str(path)}
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b'\n{"half')
    assert place.line(given=old) == "91K\n"
    lines.append({"type": "system", "subtype": "compact_boundary"})
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    assert place.line(given=old) == "–\n"
    path.unlink()
    assert place.line(given=old) == "–\n"


def test_what_the_agent_says_is_kept_for_the_process_that_follows(place: Place) -> None:
    place.run(given=said(model={"id": "m"}))
    assert [said["model"] for _, said in read_told(str(place.store))] == [{"id": "m"}]
    told = SqliteTold(place.store)(ID)
    assert told
    assert told.size == 200_000
    if sys.platform != "win32":
        assert beside(place.store, CATALOGUE).stat().st_mode & 0o777 == 0o600


def test_what_the_process_that_follows_knows_is_not_written_again(place: Place) -> None:
    for known in ({}, {"window": 100_000}, {"window_source": "rule"}):
        place.show(row(**{"window": 200_000, "window_source": "agent"} | known))
        place.run(given=said())
        assert beside(place.store, CATALOGUE).exists() is bool(known)
        beside(place.store, CATALOGUE).unlink(missing_ok=True)
    # Without that process, the next one has to know it.
    place.show(row(window=200_000, window_source="agent"), follower=dead_process())
    place.run(given=said())
    told = SqliteTold(place.store)(ID)
    assert told
    assert told.size == 200_000


@pytest.mark.parametrize("name", ["../../x", "..", "", "a/b", "a\\b", "x" * 500])
def test_an_id_that_is_no_name_is_not_kept(place: Place, name: str) -> None:
    assert place.line(given=said() | {"session_id": name}) == "◔ 46% · 91K/200K\n"
    assert not beside(place.store, CATALOGUE).exists()


def test_what_was_said_long_ago_goes(place: Place) -> None:
    place.run(given=said(session_id="old"))
    place.age(1)
    place.run(given=said())
    assert [said["session_id"] for _, said in read_told(str(place.store))] == [ID]


@pytest.mark.parametrize("text", [None, "a file that is no catalogue"])
def test_a_catalogue_that_cannot_be_written_changes_nothing_in_the_line(place: Place, text: str | None) -> None:
    catalogue = beside(place.store, CATALOGUE)
    catalogue.mkdir(parents=True) if text is None else catalogue.write_text(text, encoding="utf-8")
    assert place.line(given=said()) == "◔ 46% · 91K/200K\n"
    assert place.line("--plain", "--cwd", "/home/user/project") == ""


def test_a_full_context_is_marked_in_words_and_colour(place: Place) -> None:
    place.show(row())
    usage = USAGE | {"cache_read_input_tokens": 170_000}
    assert place.line(given=said(usage)).startswith("▲ 85% · 170K/200K · compacts at 167K")
    assert place.line(given=said(usage), NO_COLOR="").startswith("\x1b[1;31m▲ 85%")
    assert place.line("--color", "never", given=said(usage), NO_COLOR="").startswith("▲ 85%")
    assert place.line("--ascii", given=said(usage)) == "! 85% - 170K/200K - compacts at 167K - 12+ calls left\n"


def test_a_quiet_line_is_empty_until_few_calls_are_left(place: Place) -> None:
    place.show(row())
    assert place.line("--quiet", given=said()) == ""
    place.show(row(calls_left=[2, 5], nearness="imminent"))
    assert place.line("--quiet", given=said()).startswith("▲ 46%")


def test_the_command_of_before_gets_the_same_input_and_its_line_comes_after(place: Place) -> None:
    echo = "import sys; data = sys.stdin.buffer.read(); print(len(data)); print('second')"
    given = said()
    size = len(msgspec.json.encode(given))
    expected = f"◔ 46% · 91K/200K | {size}\nsecond\n"
    assert place.line("--", sys.executable, "-c", echo, given=given) == expected
    if sys.platform != "win32":
        assert place.line("--", "wc -c | tr -d ' '; echo second", given=given) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="the words of POSIX' shell")
@pytest.mark.parametrize("command", ["exit 3", "no-such-command-here 2>/dev/null", "exec 0<&-", "kill -9 $$"])
def test_a_command_that_fails_leaves_ullages_line(place: Place, command: str) -> None:
    assert place.line("--", command, given=said()) == "◔ 46% · 91K/200K\n"
    assert place.line("--", "/no/such", "program", given=said()) == "◔ 46% · 91K/200K\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the words of POSIX' shell")
def test_of_a_command_that_prints_without_end_the_beginning_is_shown(place: Place) -> None:
    line = place.line("--", "yes quince; echo never", given=said())
    assert line.startswith("◔ 46% · 91K/200K | quince\nquince\n")
    assert len(line) < 100_000
    assert "never" not in line


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_an_agent_that_wants_a_newer_line_ends_the_command_too(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = f"echo > {mark}; sleep {_LONG}; true"
    with subprocess.Popen(
        [sys.executable, "-m", "ullage", "statusline", "--store", place.store, "--", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        end = time.monotonic() + PATIENCE
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        # Standard error ends when the last process that has it ends: the command's, too.
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, b"")


def test_tmux_shows_the_conversation_of_the_panes_process(place: Place) -> None:
    mine, other = row(process_id=os.getpid(), cwd="/elsewhere"), row(process_id=dead_process(), used=1_000)
    place.show(other, mine)
    pane = str(os.getppid())
    expected = "Claude Code ◔ 46% · 91K/200K · compacts at 167K · 12+ calls left\n"
    assert place.line("--tmux", "--pid", pane, "--cwd", "/home/user/project") == expected
    # A process that has another pane is not this one's.
    place.show(row(process_id=os.getpid()))
    assert place.line("--tmux", "--pid", str(dead_process()), "--cwd", "/home/user/project") == ""


def test_a_prompt_shows_the_live_conversation_of_the_folder(place: Place) -> None:
    place.show(row(live=False, used=5), row(cwd="/home/user/proj"), row(agent="Codex", used=41_000))
    for folder in ("/home/user/project", os.path.join("/home/user/project", "src")):  # noqa: PTH118
        assert place.line("--plain", "--cwd", folder).startswith("Codex ○ 21% · 41K/200K")
    assert place.line("--plain", "--cwd", "/home/user") == ""
    assert place.line("--plain") == ""


def test_without_a_follower_a_prompt_shows_what_the_agent_said_last(place: Place) -> None:
    place.run(given=said())
    place.show(row(used=5), follower=dead_process())
    assert place.line("--plain", "--cwd", "/home/user/project") == "◔ 46% · 91K/200K · compacts at 167K\n"
    place.age(1)
    assert place.line("--plain", "--cwd", "/home/user/project") == ""


def test_tmuxs_own_characters_are_escaped(place: Place) -> None:
    place.show(row(agent="#(rm)", used=170_000))
    line = place.line("--tmux", "--cwd", "/home/user/project")
    assert line.startswith("#[fg=red,bold]##(rm) ▲ 85%")
    assert line.endswith("#[default]\n")


def test_wrong_arguments_are_named(place: Place) -> None:
    ran = place.run("--tmx", given=said())
    assert (ran.status, ran.out) == (2, "")
    assert "did you mean --tmux?" in ran.err


def test_nothing_heavy_is_imported(place: Place) -> None:
    code = "import sys; from ullage.cli.main import main; main(); print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code, "statusline", "--store", place.store],
        input=msgspec.json.encode(said()),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = ran.stdout.decode().splitlines()[-1].split()
    heavy = {"msgspec", "argparse", "rich", "asyncio", "platformdirs", "pathlib", "subprocess", "typing", "sqlite3"}
    heavy |= {"json", "re", "contextlib"}
    # Some Pythons load `typing`, `re` or `pathlib` at their start, for an editable install.
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, timeout=PATIENCE, check=True
    )
    assert heavy & set(loaded) <= set(bare.stdout.decode().split())
