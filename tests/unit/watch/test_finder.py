"""Conversations of agents are found on this machine, without configuration; and those that an agent is about to
delete."""

import json
import math
import os
import shutil
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.foreign import to_lines
from support.homes import OLDEST, PROJECT, Home, put_all, put_claude, put_codex
from support.transcripts import ROOT
from support.workspace import build_test_client
from ullage.agents import claude_code, gemini_cli
from ullage.agents.discovery import Discovery, UnreadFile, Wanted
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import read_document
from ullage.app.catalogue import find_known
from ullage.system.growing_files import read_transcript_file
from ullage.watch import unpacking
from ullage.watch.candidates import AgentsOwnFiles, Expiring, find_candidates, find_expiring, is_of_sub_agent, own_path

LIVE = ROOT / "live"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "ada")


def look(home: Home, limit: int = 100, folder: str = PROJECT, *, alone: bool = False, origin: str = "") -> Discovery:
    wanted = Wanted(limit=limit, folder=folder, alone=alone, origin=origin)
    return find_known(build_test_client().workspace, home.path.parent / "store.db", wanted, home.machine)


def titles(discovery: Discovery) -> list[str]:
    return [one.title for one in discovery.conversations]


def test_every_agents_conversation_is_found_with_its_title_and_folder(home: Home) -> None:
    kept = put_all(home)
    discovery = look(home)
    found = {(one.agent, one.format, one.title, one.cwd, one.run) for one in discovery.conversations}
    assert found == {(one.agent, one.format, one.title, one.cwd, one.run) for one in kept}
    assert len(discovery.conversations) == len(kept)
    assert discovery.unread == ()


def test_every_agent_with_known_places_is_in_the_made_up_home(home: Home) -> None:
    assert {one.agent for one in put_all(home)} == {agent.name for agent in AGENTS if agent.sessions}


def test_a_rollout_that_codex_has_compressed_is_found(home: Home) -> None:
    zstd = import_module(unpacking.ZSTD_MODULE)
    plain = put_codex(home, title="Rain")
    plain.with_name(plain.name + ".zst").write_bytes(zstd.compress(plain.read_bytes()))
    plain.unlink()
    (found,) = look(home).conversations
    assert (found.title, found.cwd, found.path.endswith(".zst")) == ("Rain", PROJECT, True)


def test_a_compressed_rollout_that_cannot_be_unpacked_is_named(home: Home) -> None:
    home.put(".codex/archived_sessions/rollout-2026-11-22T10-00-00-x.jsonl.zst", b"\x28\xb5\x2f\xfdnonsense")
    (unread,) = look(home).unread
    assert unread.path.endswith(".zst")


def test_a_session_of_grok_without_updates_is_found_by_its_chat_history(home: Home) -> None:
    folder = ".grok/sessions/-home-ada-weather/g1"
    home.put(f"{folder}/summary.json", json.dumps({"info": {"id": "g1", "cwd": PROJECT}}))
    home.put(f"{folder}/chat_history.jsonl", to_lines({"type": "user", "content": "Wind?", "prompt_index": 0}))
    assert [(one.format, one.title) for one in look(home).conversations] == [("grok-cli", "Wind?")]


def test_what_is_found_can_be_read_and_says_the_same_then(home: Home) -> None:
    put_all(home)
    # The other samples hold no answer, without which their readers find no message.
    readable = {"Claude Code", "Codex", "Qwen Code", "pi", "Droid", "Cline", "OpenHands", "aider"}
    found = [one for one in look(home).conversations if one.agent in readable]
    assert len(found) == len(readable)
    for one in found:
        read = read_document(read_transcript_file(Path(one.path), one.run))
        assert (one.format, one.cwd, one.origin_id) == (read.format, read.cwd, read.session_id)


def test_nothing_is_written_where_agents_keep_their_files(home: Home) -> None:
    put_all(home)
    before = {file: file.stat().st_mtime_ns for file in home.path.rglob("*")}
    look(home)
    assert {file: file.stat().st_mtime_ns for file in home.path.rglob("*")} == before


def test_the_folders_conversations_come_first_then_the_newest(home: Home) -> None:
    put_claude(home, "a" * 8, "old here")
    put_codex(home, "b" * 8, "inside", f"{PROJECT}/api")
    put_claude(home, "c" * 8, "a neighbour", f"{PROJECT}-2")
    put_codex(home, "d" * 8, "elsewhere", "/home/ada/login")
    assert titles(look(home)) == ["inside", "old here", "elsewhere", "a neighbour"]
    assert titles(look(home, alone=True)) == ["inside", "old here"]
    assert titles(look(home, folder="")) == ["elsewhere", "a neighbour", "inside", "old here"]
    assert titles(look(home, 1)) == ["inside"]


def test_newer_conversations_of_a_folder_with_a_similar_name_hide_none(home: Home) -> None:
    put_claude(home, "a" * 8, "here")
    for name in "bcdef":
        put_claude(home, name * 8, "there", f"{PROJECT}-2")
    assert titles(look(home, 2, alone=True)) == ["here"]


def test_a_conversation_is_found_by_the_beginning_of_its_agents_own_id(home: Home) -> None:
    put_claude(home, "7f3a0000-0000-4000-8000-000000000000", "this")
    put_claude(home, "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "that", "/home/ada/login")
    assert titles(look(home, origin="7f3a")) == ["this"]
    assert titles(look(home, origin="0a1b")) == ["that"]
    assert titles(look(home, origin="0a1b", alone=True)) == []


def test_a_conversation_is_found_by_the_name_of_a_folder_that_has_its_id_without_hyphens(home: Home) -> None:
    put_all(home)
    name = "7f3a0000-0000-4000-8000-000000000000"
    state = {"id": name, "persistence_dir": "x", "workspace": {"working_dir": PROJECT}, "agent": {}}
    home.put(f".openhands/conversations/{name.replace('-', '')}/base_state.json", json.dumps(state))
    for origin in (name, name.replace("-", ""), name[:12]):
        assert [one.origin_id for one in look(home, origin=origin).conversations] == [name]


def test_a_title_that_the_user_gave_later_replaces_the_first_prompt(home: Home) -> None:
    log = ClaudeLog(cwd=PROJECT).ask("count the barrels").answer(900)
    for _ in range(200):
        log.ask("x" * 1000)
    home.put(".claude/projects/p/a.jsonl", log.data + to_lines({"type": "custom-title", "customTitle": "Barrels"}))
    assert titles(look(home)) == ["Barrels"]


def test_a_first_prompt_after_long_instructions_is_the_title(home: Home) -> None:
    meta = {"type": "session_meta", "payload": {"id": "1", "cwd": PROJECT, "base_instructions": "x" * 100_000}}
    asked = {"role": "user", "type": "message", "content": [{"type": "input_text", "text": "why?"}]}
    lines = to_lines(meta, {"type": "response_item", "payload": asked})
    home.put(".codex/sessions/2026/11/22/rollout-1.jsonl", lines)
    assert [(one.title, one.cwd) for one in look(home).conversations] == [("why?", PROJECT)]


def test_one_conversation_in_several_files_is_listed_once_by_the_newest(home: Home) -> None:
    head = {"sessionId": "1", "projectHash": "x", "startTime": "2026-11-22T10:00:00Z", "kind": "main"}
    for name in ("session-1.jsonl", "session-2.jsonl"):
        file = home.put(f".gemini/tmp/weather/chats/{name}", to_lines(head))
    assert [one.path for one in look(home).conversations] == [str(file)]


def test_a_file_that_is_being_written_empty_or_no_transcript_breaks_nothing(home: Home) -> None:
    whole = put_claude(home, "a" * 8, "whole")
    half = home.put(".claude/projects/p/b.jsonl", whole.read_bytes() + b'{"type":"user","mess')
    home.put(".claude/projects/p/c.jsonl", b"")
    home.put(".claude/projects/p/d.jsonl", b"\xff\xfe no JSON \x00")
    home.put(".claude/projects/p/e.jsonl", b'["a list"]')
    (home.path / ".claude/projects/p/folder.jsonl").mkdir()
    discovery = look(home, folder="")
    assert {(one.path, one.title) for one in discovery.conversations if one.title} == {(str(half), "whole")}
    assert discovery.unread == ()


def test_what_cannot_be_read_is_told(home: Home) -> None:
    database = home.put(".local/share/opencode/opencode.db", b"no database")
    projects = home.put(".local/share/crush/projects.json", '{"projects": [{"path": 7}, {"path": "/gone"}]}')
    locked = put_claude(home, "a" * 8)
    locked.chmod(0)
    discovery = look(home)
    told = {unread.path: unread.reason for unread in discovery.unread}
    assert "file is not a database" in told.pop(str(database))
    assert str(projects) not in told
    # A superuser may read every file.
    assert told == ({} if os.access(locked, os.R_OK) else {str(locked): "Permission denied"})


def test_each_conversation_of_a_database_has_its_run_and_what_is_in_the_log_counts(home: Home) -> None:
    row = {"id": "s1", "project_id": "p", "parent_id": None, "directory": PROJECT, "title": "one", "time_updated": 1}
    path = home.put_rows(".local/share/opencode/opencode.db", "session", [row])
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        with database:
            database.execute("INSERT INTO session VALUES ('s2', 'p', NULL, ?, 'two', 2)", (PROJECT,))
        found = look(home).conversations
    assert [(one.title, one.run, one.origin_id, one.updated_at) for one in found] == [
        ("two", 2, "s2", 2000),
        ("one", 1, "s1", 1000),
    ]


def test_what_waits_in_a_databases_write_ahead_log_has_changed_it(home: Home) -> None:
    row = {"id": "s1", "project_id": "p", "parent_id": None, "directory": PROJECT, "title": "one", "time_updated": None}
    path = home.put_rows(".local/share/opencode/opencode.db", "session", [row])
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        with database:
            database.execute("UPDATE session SET title = 'two'")
        for file, time in ((path, OLDEST), (path.with_name(f"{path.name}-wal"), OLDEST + 60)):
            os.utime(file, (time, time))
        (found,) = look(home).conversations
    assert (found.title, found.updated_at) == ("two", (OLDEST + 60) * 1_000)


def test_conversations_in_a_table_of_newer_versions_are_found_once_each(home: Home) -> None:
    row = {"id": "s1", "project_id": "p", "parent_id": None, "directory": PROJECT, "title": "one", "time_updated": 1}
    path = home.put_rows(".local/share/opencode/opencode.db", "session", [row, row | {"id": "s2", "title": "two"}])
    with closing(sqlite3.connect(path)) as database:
        with database:
            database.execute("CREATE TABLE session_v2 AS SELECT * FROM session WHERE id = 's1'")
            database.execute("INSERT INTO session_v2 VALUES ('s3', 'p', NULL, ?, 'three', 3)", (PROJECT,))
            database.execute("UPDATE session_v2 SET title = 'first', time_updated = 4 WHERE id = 's1'")
        both = look(home).conversations
        with database:
            database.execute("DROP TABLE session")
        newer = look(home).conversations
    found = {(one.title, one.run, one.origin_id, one.updated_at) for one in both}
    assert found == {("first", 1, "s1", 4000), ("two", 2, "s2", 1000), ("three", 3, "s3", 3000)}
    assert {(one.title, one.run) for one in newer} == {("first", 1), ("three", 2)}


def test_variables_and_a_home_folder_with_special_characters_are_honoured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "ada [work]*")
    monkeypatch.setenv("HOME", str(home.path))
    monkeypatch.setenv("USERPROFILE", str(home.path))
    put_claude(home, title="mine")
    moved = Home(tmp_path / "other [x]")
    put_codex(moved, title="moved")
    monkeypatch.setenv("CODEX_HOME", str(moved.path / ".codex"))
    wanted = Wanted(limit=9, folder=PROJECT)
    found = find_known(build_test_client().workspace, tmp_path / "store.db", wanted)
    assert sorted(titles(found)) == ["mine", "moved"]


def test_every_agents_own_file_is_known_by_its_path_by_a_link_and_by_its_folder(home: Home, tmp_path: Path) -> None:
    put_all(home)
    paths = {one.path for one in look(home).conversations}
    assert {own_path(home.machine, path) for path in paths} == paths
    link = tmp_path / "link"
    link.symlink_to(put_claude(home, title="linked"))
    assert own_path(home.machine, str(link)) == str(link.resolve())
    assert own_path(home.machine, str(link.resolve().parent)).startswith(str(link.resolve().parent))


def test_a_copy_elsewhere_is_no_agents_own_file_and_one_that_is_gone_is_not_there(home: Home, tmp_path: Path) -> None:
    kept = put_claude(home)
    copy = tmp_path / kept.name
    shutil.copy(kept, copy)
    assert own_path(home.machine, str(copy)) == own_path(home.machine, str(tmp_path / "no")) == ""
    files = AgentsOwnFiles()
    assert (files.has(str(kept)), files.has("")) == (True, False)
    kept.unlink()
    assert not files.has(str(kept))


def test_a_machine_without_agents_has_no_conversations(tmp_path: Path) -> None:
    machine = Machine(system="linux", home=str(tmp_path))
    assert find_known(build_test_client().workspace, tmp_path / "store.db", Wanted(limit=9), machine) == Discovery()


@pytest.mark.skipif(not LIVE.is_dir(), reason="the recorded conversations are not there")
@pytest.mark.parametrize(
    ("recorded", "place"),
    [
        ("claude_code/*.jsonl", ".claude/projects/-home-dev-project/{name}"),
        ("codex/[amnhf]*.jsonl", ".codex/sessions/2026/11/22/rollout-{name}"),
        ("gemini-cli/chats/*.jsonl", ".gemini/tmp/project/chats/{name}"),
        ("qwen-code/*-*-*-*-*.jsonl", ".qwen/projects/-home-dev-project/chats/{name}"),
        ("pi*/*.jsonl", ".pi/agent/sessions/--home-dev-project--/{name}"),
        ("copilot-cli/*-*-*-*-*", ".copilot/session-state/{name}"),
        ("cline/*_*", ".cline/data/sessions/{name}"),
        ("openhands/*", ".openhands/conversations/{name}"),
        ("opencode/opencode.db", ".local/share/opencode/{name}"),
        ("kilo/kilo.db", ".local/share/kilo/{name}"),
    ],
)
def test_a_recorded_conversation_is_listed_as_its_reader_reads_it(home: Home, recorded: str, place: str) -> None:
    for source in LIVE.glob(recorded):
        target = home.path / place.format(name=source.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source, target)
    found = look(home, folder="/home/dev/project").conversations
    assert found
    for one in found:
        read = read_document(read_transcript_file(Path(one.path), one.run))
        # The file of a project's folder was not recorded.
        known = read.cwd if one.agent != "Gemini CLI" else one.cwd
        assert (one.format, one.cwd, one.origin_id) == (read.format, known, read.session_id)
        assert read.title in ("", one.title)


# Sub-agents' conversations are distinguished from those of users


CHILD = {"id": "ses_2", "parent_id": "ses_1", "project_id": "p", "directory": "/home/ada", "time_updated": 5}


def own(home: Home) -> list[str]:
    unread: list[UnreadFile] = []
    found = [one.origin_id for one in find_candidates(home.machine, AGENTS, unread) if not is_of_sub_agent(one)]
    assert unread == []
    return sorted(found)


def test_rows_and_files_of_sub_agents_are_known_by_what_they_hold(home: Home) -> None:
    parent: dict[str, Any] = CHILD | {"id": "ses_1", "parent_id": None}
    home.put_rows(".local/share/opencode/opencode.db", "session", [parent, CHILD])
    put_claude(home, name="0198c1d2-0000-7000-8000-000000000001")
    put_codex(home, name="0198c1d2-0000-7000-8000-000000000002")
    put_codex(home, name="0198c1d2-0000-7000-8000-000000000003", source={"subagent": {"thread_spawn": {}}})
    names = [f"0198c1d2-0000-7000-8000-00000000000{number}" for number in (1, 2)]
    assert own(home) == [*names, "ses_1"]
    assert own(home) == [*names, "ses_1"]


def test_a_file_without_a_record_yet_is_asked_again(home: Home) -> None:
    path = put_codex(home, source={"subagent": {"thread_spawn": {}}})
    whole = path.read_bytes()
    path.write_bytes(whole[:10])
    assert len(own(home)) == 1
    path.write_bytes(whole)
    assert own(home) == []


def test_what_a_file_next_to_it_says_counts_once_that_is_there(home: Home) -> None:
    session = ".grok/sessions/project/0198c1d2"
    home.put(f"{session}/chat_history.jsonl", '{"type": "user", "content": "go", "prompt_index": 0}\n')
    assert len(own(home)) == 1
    home.put(f"{session}/summary.json", '{"info": {"id": "0198c1d2"}, "session_kind": "subagent"}')
    assert own(home) == []


def test_a_sub_agent_of_a_workflow_is_found_next_to_one_of_the_session(home: Home) -> None:
    line = '{"type":"user","isSidechain":true,"agentId":"%s","sessionId":"s","message":{"role":"user","content":"go"}}'
    folder = ".claude/projects/-home-ada/s/subagents"
    for place, agent_id in (("", "a1"), ("workflows/wf_1/", "a2")):
        home.put(f"{folder}/{place}agent-{agent_id}.jsonl", line % agent_id)
    found = [one.name for one in find_candidates(home.machine, AGENTS, []) if is_of_sub_agent(one)]
    assert sorted(name.rpartition("/")[2] for name in found) == ["agent-a1.jsonl", "agent-a2.jsonl"]


DAY = 86_400
NOW = 1_800_000_000


def machine(home: Path) -> Machine:
    return Machine(system="linux", home=str(home))


def transcript(home: Path, days: float, name: str = "a") -> str:
    """Makes a transcript of Claude Code that last changed so many days ago."""
    path = home / ".claude" / "projects" / "-p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return str(path)


def expiring(home: Path, days: int = 7) -> Expiring:
    (found,) = find_expiring(machine(home), [claude_code.AGENT], (NOW + days * DAY) * 1000)
    return found


def test_transcripts_that_will_be_deleted_within_a_week_are_named(tmp_path: Path) -> None:
    over, soon, _ = (transcript(tmp_path, days, name) for days, name in ((40, "a"), (25, "b"), (20, "c")))
    found = expiring(tmp_path)
    assert (found.days, found.files, found.soon) == (30, 3, (over, soon))
    assert found.first_at == (NOW - 10 * DAY) * 1000
    assert found.settings_path == str(tmp_path / ".claude" / "settings.json")


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ('{"cleanupPeriodDays": 10}', 10),
        ('{"cleanupPeriodDays": 36500}', 36_500),
        ('{"cleanupPeriodDays": true}', 30),
        ('{"model": "opus"}', 30),
        ("{ not JSON", 30),
    ],
)
def test_the_period_is_that_of_the_users_settings(tmp_path: Path, settings: str, days: float) -> None:
    transcript(tmp_path, 15)
    (tmp_path / ".claude" / "settings.json").write_text(settings)
    found = expiring(tmp_path)
    assert found.days == days
    assert bool(found.soon) == (days == 10)


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ("{}", 30),
        ('{"general": {"sessionRetention": {"maxAge": "2w"}}}', 14),
        ('{"general": {"sessionRetention": {"enabled": false, "maxAge": "2w"}}}', math.inf),
    ],
)
def test_gemini_clis_retention_is_read(tmp_path: Path, settings: str, days: float) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "p" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-1.json").write_text("{}")
    (tmp_path / ".gemini" / "settings.json").write_text(settings)
    (found,) = find_expiring(machine(tmp_path), [gemini_cli.AGENT], NOW * 1000)
    assert found.days == days


def test_an_agent_without_transcripts_is_left_out(tmp_path: Path) -> None:
    assert find_expiring(machine(tmp_path), [claude_code.AGENT], NOW * 1000) == ()
