"""`ullage survive` as a real process: the table, the object for programs, bad input, and Ctrl-C."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support.claude_log import ClaudeLog
from support.command_line import PATIENCE, ullage
from support.systems import needs_signals
from support.transcripts import ROOT

SUMMARY = "The table in src/shop/part1.py is renamed; go on with the others."
FOLDERS = [ROOT / name for name in ("claude_code_entire", "claude_code_spotter", "claude_code_vsla")]


def grown(session: str, cwd: str, *, compacted: bool = True) -> ClaudeLog:
    """Returns a log in which files are read, the context is compacted, and the same and other files are read."""
    log = ClaudeLog(session=session, cwd=cwd).ask("Rename the table. Never touch src/shop/legacy.py.")
    for number in range(12):
        log.read(f"{cwd}/src/shop/part{number}.py", f"def part_{number}_total(): ...\n" * 60).answer(9_000)
    if compacted:
        log.compact(90_000, summary=SUMMARY * 4)
    for number in range(4):
        log.read(f"{cwd}/src/shop/part{number}.py", f"def part_{number}_total(): ...\n").answer(9_000)
        edited = {"file_path": f"{cwd}/src/shop/part{number}.py", "new_string": f"part_{number}_total(1)"}
        log.call("Edit", "edited", old_string="...", **edited)
    return log


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("shop", "bank"):
        (tmp_path / f"{name}.jsonl").write_bytes(grown(name, f"/home/me/{name}").data)
    (tmp_path / "notes.jsonl").write_text("not a conversation", encoding="utf-8")
    return tmp_path


def test_every_arm_is_listed_with_what_survives_and_how_replay_and_record_agree(folder: Path) -> None:
    ran = ullage("survive", folder)
    assert (ran.status, ran.err) == (0, "")
    for word in ("2 cuts of 2 conversations", "agent + ullage", "masking", "other project", "What survives", "record"):
        assert word in ran.out


def test_programs_get_the_same_as_an_object(folder: Path) -> None:
    found = ullage("survive", folder, "--json").json
    assert found["unread"] == 1
    assert found["chosen"] is None
    arms = {row["arm"]: row for row in found["recorded"]["arms"]}
    assert arms["everything"]["facts"]["value"] == 100
    assert arms["nothing"]["facts"]["value"] == 0
    assert arms["ullage"]["size"] <= arms["agent"]["size"]
    assert found["recorded"]["calibration"]["recorded"] == 4


def test_a_conversation_without_compactions_is_cut_at_chosen_places(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    path.write_bytes(grown("shop", "/home/me/shop", compacted=False).data)
    found = ullage("survive", path, "--size", "500", "--json").json
    assert found["recorded"] is None
    assert found["chosen"]["cuts"] == 2
    assert "agent" not in {row["arm"] for row in found["chosen"]["arms"]}
    assert ullage("survive", path, "--recorded").status == 1


@pytest.mark.parametrize("name", ["missing.jsonl", "notes.jsonl"])
def test_a_file_that_cannot_be_read_is_one_clear_error(folder: Path, name: str) -> None:
    ran = ullage("survive", folder / "shop.jsonl", folder / name)
    assert (ran.status, ran.out) == (2, "")
    assert name in ran.err
    assert len(ran.err.splitlines()) == 1


def test_without_files_the_conversations_of_this_machine_are_replayed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    kept = home / ".claude" / "projects" / "-home-me-shop"
    kept.mkdir(parents=True)
    env = {"HOME": str(home), "USERPROFILE": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    assert "no conversation" in ullage("survive", "--store", tmp_path / "store.db", env=env).err
    (kept / "shop.jsonl").write_bytes(grown("shop", "/home/me/shop").data)
    found = ullage("survive", "--json", "--store", tmp_path / "store.db", env=env)
    assert found.json["recorded"]["conversations"] == 1


def interrupted(process: subprocess.Popen[bytes]) -> int:
    """Sends SIGINT until the process ends, and returns its exit status. A signal that comes between two reads of
    standard input is only seen at the next one."""
    for _ in range(PATIENCE // 5):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=5)
    raise AssertionError("the process ignores SIGINT")


@needs_signals
def test_ctrl_c_ends_the_replay() -> None:
    command = [sys.executable, "-m", "ullage", "survive", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        # No pipe holds so much: once it is written, the command is reading.
        process.stdin.write(b"\n" * (4 << 20))
        process.stdin.flush()
        status = interrupted(process)
        assert process.stdout is not None
        assert process.stderr is not None
        assert (status, process.stdout.read(), process.stderr.read()) == (130, b"", b"")


@pytest.mark.slow
@pytest.mark.skipif(not all(folder.is_dir() for folder in FOLDERS), reason="recorded conversations are not here")
def test_on_recorded_compactions_the_page_of_another_project_lets_hardly_anything_go_ahead() -> None:
    found = ullage("survive", *FOLDERS, "--recorded", "--json").json["recorded"]
    shares = {row["arm"]: row["unblocked"]["value"] for row in found["arms"]}
    assert shares["everything"] == 100
    assert shares["nothing"] == 0
    assert shares["other project"] <= 5
    assert shares["tail"] < shares["ullage"] > shares["agent"]
    assert shares["agent + ullage"] >= shares["agent"]
    assert shares["agent + brief"] > shares["agent"]
    assert shares["agent + other brief"] <= shares["agent"] + 5
    lookups = {row["arm"]: row["lookups_against_agent"] for row in found["arms"]}
    assert lookups["everything"]["value"] == 0
    assert lookups["agent + brief"]["high"] < 1
    assert lookups["agent + other brief"]["value"] >= 0.95
