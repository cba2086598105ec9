"""`ullage` and `ullage context` find conversations in agents' own files, in a made-up home folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from support import started_program
from support.claude_log import ClaudeLog
from support.command_line import Ended, ullage, ullage_bytes
from support.foreign import to_lines
from support.homes import Home, put_claude, put_codex
from support.panes import wait_until
from ullage.model.usage import FollowedRow, LiveSessions, UsageSource
from ullage.store.sqlite.catalogue import FollowedNow

IDS = ("7f3a0000-0000-4000-8000-000000000000", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")


class Place:
    """A home folder, a project in it, and a store."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "ada")
        self.project = self.home.path / "weather"
        self.project.mkdir(parents=True)
        self.store = folder / "store.db"

    def run(self, *arguments: str | Path, cwd: Path | None = None, columns: int = 80) -> Ended:
        return ullage_bytes(*arguments, "--store", self.store, env=self._env(columns), cwd=cwd or self.project)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        command = started_program.stand_in(*arguments, "--store", str(self.store))
        env = {**os.environ, **self._env(80)}
        return subprocess.Popen(command, env=env, cwd=self.project, stdout=subprocess.PIPE, text=True)

    def _env(self, columns: int) -> dict[str, str]:
        env = {name: "" for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        home = str(self.home.path)
        return env | {"HOME": home, "USERPROFILE": home, "COLUMNS": str(columns), "PYTHONUTF8": "1"}

    def json(self, *arguments: str | Path, cwd: Path | None = None) -> Any:
        ended = self.run(*arguments, "--json", cwd=cwd)
        assert ended.status == 0, ended.err.decode()
        return msgspec.json.decode(ended.out)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_folders_conversations_are_listed_with_their_figures_the_fullest_first(place: Place) -> None:
    put_codex(place.home, IDS[0], "Rain", str(place.project), tokens=9_000)
    claude = put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000)
    put_claude(place.home, IDS[1][::-1], "elsewhere", "/home/ada/login")
    rows = place.json("here")["conversations"]
    assert [(row["title"], row["agent"], row["session_id"]) for row in rows] == [
        ("Snow", "Claude Code", IDS[1]),
        ("Rain", "Codex", IDS[0]),
    ]
    alone = place.json("context", claude)
    for name in ("used", "percent", "window", "window_source", "compacts_at", "compacts_at_source"):
        assert rows[0][name] == alone[name], name
    assert (rows[0]["used_source"], rows[0]["updated_at"]) == (alone["source"], alone["as_of"])
    assert (rows[0]["used"], rows[0]["percent"]) == (90_050, 45)
    assert rows[1]["window"] == 258_400
    assert not any(row["stored"] for row in rows)


def test_a_conversation_and_its_import_are_one_row_that_which_changed_last(place: Place) -> None:
    file = put_claude(place.home, IDS[1], "Snow", str(place.project))
    imported = place.json("import", file)
    (row,) = place.json("here")["conversations"]
    assert (row["stored"], row["session_id"]) == (True, imported["session_id"])
    # The agent continues: its file is newer than the import.
    later = imported_at(place) / 1000 + 60
    os.utime(file, (later, later))
    (row,) = place.json("here")["conversations"]
    assert (row["stored"], row["session_id"], row["path"]) == (False, IDS[1], str(file))


def imported_at(place: Place) -> int:
    return place.json("--stored")["sessions"][0]["updated_at"]


def test_context_takes_the_newest_conversation_wherever_it_lies(place: Place) -> None:
    nothing = place.run("context")
    assert nothing.status == 2
    assert b"no conversation of" in nothing.err
    old = put_codex(place.home, IDS[0], "Rain", str(place.project))
    new = put_claude(place.home, IDS[1], "Snow", str(place.project))
    assert place.json("context")["name"] == str(new)
    imported = place.json("import", old)
    assert place.json("context")["name"] == imported["session_id"]
    below = place.project / "api" / "src"
    below.mkdir(parents=True)
    assert place.json("context", cwd=below)["name"] == imported["session_id"]


def test_in_a_folder_of_a_project_the_projects_conversations_are_shown(place: Place) -> None:
    put_claude(place.home, IDS[1], "Snow", str(place.project))
    below = place.project / "api"
    below.mkdir()
    report = place.json("here", cwd=below)
    assert report["folder"] == str(place.project)
    assert [row["title"] for row in report["conversations"]] == ["Snow"]


def test_an_agents_own_id_may_be_cut_short(place: Place) -> None:
    file = put_codex(place.home, IDS[0], "Rain", "/home/ada/login")
    put_claude(place.home, "7f3b" + IDS[0][4:], "Snow", str(place.project))
    assert place.json("context", "7f3a")["name"] == str(file)
    several = place.run("context", "7f3")
    assert several.status == 2
    assert b"7f3a" in several.err
    assert b"7f3b" in several.err
    unknown = place.run("context", "77")
    assert b"no such file, and no stored session '77'" in unknown.err


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_table_fits_the_terminal_and_its_ids_can_be_typed(place: Place, columns: int) -> None:
    put_codex(place.home, IDS[0], "Rain " * 30, str(place.project))
    put_claude(place.home, "7f3a0000-1" + IDS[0][10:], "Snow", str(place.project), tokens=90_000)
    lines = place.run("here", columns=columns).out.decode().splitlines()
    # The first line names the folder, which is never cut.
    assert max(map(len, lines[1:])) <= columns
    for line in lines[2:4]:
        assert place.run("context", line.split()[-1]).status == 0


def test_all_conversations_have_their_figure_and_a_broken_one_breaks_nothing(place: Place) -> None:
    for number in range(30):
        put_codex(
            place.home, f"{number:02}{IDS[0][2:]}", f"Rain {number}", str(place.project), tokens=30_000 - number * 1_000
        )
    place.home.put(f".claude/projects/x/{IDS[1]}.jsonl", b'{"cwd": "%s"}' % bytes(place.project))
    broken = place.home.put(".local/share/goose/sessions/sessions.db", b"no database")
    report = place.json("here")
    assert report["count"] == 31
    known = [(row["title"], row["used"]) for row in report["conversations"]]
    assert known == [(f"Rain {number}", 30_007 - number * 1_000) for number in range(20)]
    assert [file["path"] for file in report["unread_files"]] == [str(broken)]
    shown = place.run("here", columns=200).out.decode()
    assert f"Not read: {broken}" in shown
    assert "20 of 31 conversations (all: --all)" in shown
    every = place.json("here", "--all")["conversations"]
    assert (len(every), every[-1]["used"]) == (31, None)


def run_now(place: Place, session_id: str) -> None:
    """Says, as Claude Code does, that a process has a conversation: this one."""
    place.home.put(
        f".claude/sessions/{os.getpid()}.json", msgspec.json.encode({"pid": os.getpid(), "sessionId": session_id})
    )


def test_what_runs_now_is_first_and_what_runs_elsewhere_is_listed(place: Place) -> None:
    put_claude(place.home, IDS[1], "Fog", "/home/ada/login", tokens=9_000)
    run_now(place, IDS[1])
    (row,) = place.json("here")["elsewhere"]
    assert (row["title"], row["live"], row["process_id"]) == ("Fog", True, os.getpid())
    shown = place.run().out.decode()
    assert "Running in other folders" in shown
    put_claude(place.home, IDS[1][::-1], "Snow", str(place.project), tokens=90_000)
    shown = place.run().out.decode()
    assert shown.index("Snow") < shown.index("Running in other") < shown.index("Fog")
    put_claude(place.home, IDS[0], "Hail", str(place.project), tokens=7_000)
    run_now(place, IDS[0])
    report = place.json("here")
    assert [(row["title"], row["live"]) for row in report["conversations"]] == [("Hail", True), ("Snow", False)]
    assert report["elsewhere"] == []


def test_a_conversation_is_listed_for_the_folder_where_its_agent_looks_for_it(place: Place) -> None:
    put_claude(place.home, IDS[1], "Snow", str(place.project))
    place.project.rename(place.project.with_name("climate"))
    kept = place.home.path / ".claude/projects"
    (folder,) = kept.iterdir()
    folder.rename(kept / folder.name.replace("weather", "climate"))
    rows = place.json("here", cwd=place.project.with_name("climate"))["conversations"]
    assert [row["title"] for row in rows] == ["Snow"]


def test_a_folder_without_conversations_shows_those_of_the_machine(place: Place) -> None:
    assert "No conversation was found on this machine" in place.run().out.decode()
    put_codex(place.home, IDS[0], "Rain", "/home/ada/login", tokens=9_000)
    put_claude(place.home, IDS[1], "Snow", "/home/ada/shop", tokens=90_000)
    report = place.json("here")
    assert report["conversations"] == []
    assert [(row["title"], row["used"]) for row in report["elsewhere"]] == [("Snow", 90_050), ("Rain", 9_007)]
    shown = place.run().out.decode()
    # A long path is broken where the screen ends.
    assert f"Noconversationof{place.project}." in shown.replace("\n", "").replace(" ", "")
    assert shown.index("In other folders  2 conversations") < shown.index("Snow") < shown.index("Rain")
    assert place.json("here", "--limit", "1")["elsewhere_count"] == 2
    assert "In other folders  1 of 2 conversations" in place.run("here", "--limit", "1").out.decode()


def test_below_the_list_is_what_to_do_now(place: Place) -> None:
    put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000)
    shown = place.run().out.decode()
    assert "Compacts next    none: no agent runs now" in shown
    assert "Last compaction" not in shown
    assert f"ullage context {IDS[1][:8]}" in shown
    assert "ullage wire claude-code" in shown
    assert place.run("wire", "claude-code", "--yes").status == 0
    assert "ullage wire" not in place.run().out.decode()


def test_words_to_search_for_need_no_quotes(place: Place) -> None:
    put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000)
    one, several = (place.json("search", *words) for words in (["Snow on the roof"], ["Snow", "on", "the", "roof"]))
    assert one["hits"]
    assert several == one


def test_the_list_of_another_folder_can_be_asked_for(place: Place, tmp_path: Path) -> None:
    put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000)
    other = tmp_path / "other"
    other.mkdir()
    assert place.json("here", cwd=other)["conversations"] == []
    (row,) = place.json("here", "--cwd", str(place.project), cwd=other)["conversations"]
    assert row["title"] == "Snow"


def test_sessions_are_listed_with_their_figures(place: Place) -> None:
    imported = place.json("import", put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000))
    (row,) = place.json("--stored")["sessions"]
    assert (row["agent"], row["agent_session_id"], row["live"]) == ("Claude Code", IDS[1], False)
    assert (row["used"], row["used_source"], row["window"]) == (90_050, "reported", 200_000)
    assert (row["window_source"], row["compacts_at"]) == (imported["window_source"], imported["compacts_at"])


def test_a_search_finds_what_agents_conversations_have_on_this_machine(place: Place) -> None:
    put_claude(place.home, IDS[0], "Why is it wet?", str(place.project), tokens=9_000)
    put_codex(place.home, IDS[1], "Is the moon wet?", "/home/ada/moon", tokens=9_000)
    found = place.json("search", "wet")
    assert sorted(hit["snippet"] for hit in found["hits"]) == ["Is the moon **wet**?", "Why is it **wet**?"]
    assert (found["unread"], found["note"]) == (0, "")
    # What is there is not read again, and what is added is.
    sessions = {hit["session_id"] for hit in found["hits"]}
    (file,) = place.home.path.glob(".claude/projects/*/*.jsonl")
    more = ClaudeLog(session=IDS[0]).ask("It was walnuts.").answer(10_000)
    more.rename("later")
    file.write_bytes(file.read_bytes() + more.data)
    later = place.json("search", "walnuts")
    assert {hit["session_id"] for hit in later["hits"]} < sessions
    assert {row["session_id"] for row in place.json("--stored")["sessions"]} == sessions


def test_a_list_says_that_conversations_were_forgotten_and_come_back_if_their_agent_goes_on(place: Place) -> None:
    put_claude(place.home, IDS[0], "Snow", str(place.project), tokens=9_000)
    assert place.run("forget", IDS[0], "--yes").status == 0
    shown = " ".join(place.run().out.decode().split())
    forgotten = "1 conversation on this machine was forgotten; "
    assert f"{forgotten}if its agent goes on with it, all of it comes back, from message 1." in shown
    assert "No conversation was found" not in shown
    assert forgotten in place.run("context").err.decode()


def test_a_conversation_whose_file_has_a_time_to_come_is_forgotten(place: Place) -> None:
    file, later = put_claude(place.home, IDS[0], "Snow", str(place.project), tokens=9_000), time.time() + 1_000_000
    os.utime(file, (later, later))
    assert "Snow" in place.run("search", "snow").out.decode()
    assert place.run("forget", IDS[0], "--yes").status == 0
    assert "Nothing found" in place.run("search", "snow").out.decode()
    assert place.json()["count"] == 0


def test_a_conversation_in_two_files_is_forgotten_as_one(place: Place) -> None:
    file = put_claude(place.home, IDS[0], "Snow", str(place.project), tokens=9_000)
    place.home.put(f".claude/projects/-moved/{IDS[0]}.jsonl", file.read_bytes())
    assert place.json()["count"] == 1
    assert place.run("forget", IDS[0], "--yes").status == 0
    assert "1 conversation on this machine was forgotten" in place.run(columns=200).out.decode()
    assert place.json()["count"] == 0
    assert "Nothing found" in place.run("search", "snow").out.decode()


def test_first_steps_offer_to_wire_agents_only_until_they_are_wired(place: Place) -> None:
    (place.home.path / ".claude").mkdir()
    assert "ullage wire" in place.run().out.decode()
    assert place.run("wire", "--yes").status == 0
    assert "ullage wire" not in place.run().out.decode()
    assert "ullage demo" in place.run().out.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of its own there")
def test_a_search_that_is_ended_says_how_much_was_read_and_the_next_one_goes_on(place: Place) -> None:
    for number in range(300):
        put_claude(place.home, f"{number:08}{IDS[0][8:]}", f"Why is it wet on day {number}?", tokens=9_000)
    running = place.start("search", "wet")
    try:
        wait_until(lambda: len(place.json("--stored")["sessions"]) > 0)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=30)
    finally:
        running.kill()
    assert " of 300 conversations were read so far." in out
    assert "#1 user" in out


def test_a_search_stores_nothing_for_a_user_who_wants_no_conversations_kept(place: Place) -> None:
    put_claude(place.home, IDS[0], "Why is it wet?", tokens=9_000)
    assert place.run("keep", "off").status == 0
    found = place.run("search", "wet")
    assert found.status == 1
    assert "Not searched: 1 conversation that Ullage has not read" in found.out.decode()
    assert place.json("--stored")["sessions"] == []
    assert place.run("keep", "on").status == 0
    assert "#1 user" in place.run("search", "wet").out.decode()


def test_a_search_and_doctor_say_that_the_store_cannot_be_written(place: Place) -> None:
    put_claude(place.home, IDS[0], "Why is it wet?", tokens=9_000)
    place.store = place.home.put("no-folder", b"x") / "store.db"
    found = place.run("search", "wet", columns=400)
    assert found.status == 1
    assert f"1 conversation that Ullage has not read; it can't write {place.store}" in found.out.decode()
    checks = msgspec.json.decode(place.run("doctor", "--json").out)["checks"]
    assert f"{place.store}: can't be made" in [one["found"] for one in checks if one["status"] == "fix"]


def test_a_conversation_that_cannot_be_read_keeps_a_search_from_no_other(place: Place) -> None:
    put_claude(place.home, IDS[0], "Why is it wet?", tokens=9_000)
    broken = put_codex(place.home, IDS[1], "Is the moon wet?")
    broken.rename(broken.with_name(broken.name + ".zst")).write_bytes(b"\x28\xb5\x2f\xfd no frame")
    assert [hit["snippet"] for hit in place.json("search", "wet")["hits"]] == ["Why is it **wet**?"]
    assert place.run("search", "?").status == 2


def test_an_agent_that_runs_and_has_no_answer_yet_is_not_said_to_be_none(place: Place) -> None:
    place.home.put(f".claude/projects/weather/{IDS[1]}.jsonl", b'{"cwd": "%s"}\n' % bytes(place.project))
    run_now(place, IDS[1])
    assert "Compacts next    not known before a model has answered" in place.run().out.decode()


def test_a_model_without_a_known_window_that_has_answered_is_not_said_to_have_not(place: Place) -> None:
    said = [{"message": {"role": role, "content": "Wet."}} for role in ("user", "assistant")]
    lines = [
        {"type": "session_start", "id": "s", "cwd": str(place.project)},
        *({"type": "message"} | one for one in said),
    ]
    settings = {"model": "of-our-own", "lastCallTokenUsage": {"inputTokens": 9_000}}
    log = place.home.put(".factory/sessions/p/s.jsonl", to_lines(*lines))
    os.utime(place.home.put(".factory/sessions/p/s.settings.json", msgspec.json.encode(settings)))
    os.utime(log)
    assert "Compacts next    not known: its model's window is unknown" in place.run().out.decode()


def test_a_stored_conversation_has_the_figure_of_the_process_that_follows_it(place: Place) -> None:
    imported = place.json("import", put_claude(place.home, IDS[1], "Snow", str(place.project), tokens=90_000))
    row = FollowedRow(session_id=imported["session_id"], agent="Claude Code", used=120_000)
    row = replace(row, used_source=UsageSource.REPORTED, percent=60, updated_at=time.time_ns() // 1_000_000)
    store = place.home.path.parent / "store.db"
    FollowedNow(store).write(LiveSessions(at=1, follower=os.getpid(), sessions=(row,)))
    # The agent's file is in another home.
    shown = ullage("context", imported["session_id"], "--store", store, "--json").json
    assert (shown["used"], shown["source"], shown["percent"]) == (120_000, "reported", 60)
