"""Commands on stored sessions: found by folder and by the beginning of an id, undone, deleted, read without writing."""

import gzip
import json
import re
from pathlib import Path

import msgspec
import pytest

from support.claude_log import ClaudeLog
from support.command_line import SAMPLE, Ran, ullage, ullage_bytes
from support.receipts import receipts_of
from support.systems import needs_bound_permissions
from ullage.cli.commands.hook import note_receipt


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store" / "sessions.db"


def log_of(folder: Path, messages: int = 4, title: str = "Fix the login") -> bytes:
    """Returns a transcript of a conversation that a coding agent had in a folder."""
    lines = [
        {
            "type": "user" if number % 2 == 0 else "assistant",
            "uuid": f"{title}-{number}",
            "sessionId": title,
            "cwd": str(folder),
            "timestamp": f"2026-03-01T10:00:{number:02d}Z",
            "message": {
                "role": "user" if number % 2 == 0 else "assistant",
                "model": "claude-sonnet-4-5",
                "id": f"{title}-a{number}",
                "content": f"{title}: step {number}" if number % 2 == 0 else [{"type": "text", "text": "Done."}],
            },
        }
        for number in range(messages)
    ]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project" / "src").mkdir(parents=True)
    return tmp_path / "project"


def test_sub_agents_sessions_are_listed_under_the_one_that_started_them(store: Path, folder: Path) -> None:
    (folder / "main.jsonl").write_bytes(log_of(folder, 4, "Main work"))
    side = [json.loads(line) for line in log_of(folder, 2, "Look").splitlines()]
    whose = {"isSidechain": True, "agentId": "a1", "sessionId": "Main work"}
    (folder / "agent-a1.jsonl").write_bytes(b"".join(msgspec.json.encode(line | whose) + b"\n" for line in side))
    (folder / "other.jsonl").write_bytes(log_of(folder, 2, "Other"))
    for name in ("main.jsonl", "agent-a1.jsonl", "other.jsonl"):
        assert ullage("import", folder / name, "--store", store).status == 0
    rows = ullage("--stored", "--store", store, "--json").json["sessions"]
    found = [(row["agent_session_id"], row["parent"]) for row in rows]
    assert found == [("Other", ""), ("Main work", ""), ("a1", "Main work")]
    assert ullage("--stored", "--store", store, "--ids").out.split() == [row["session_id"] for row in rows]
    # Two conversations are asked for: a sub-agent's comes with its parent's.
    table = ullage("--stored", "--store", store, "--limit", "2").out.splitlines()
    assert ("\u2514\u2500 Look: step 0" in table[3], "\u2500" in table[2], len(table)) == (True, False, 4)
    shown = json.loads(ullage_bytes("--store", store, "--json", cwd=folder).out)["conversations"]
    assert {row["agent_session_id"] for row in shown} == {"Other", "Main work"}


def test_without_arguments_the_folders_conversations_are_shown_the_fullest_first(store: Path, folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(log_of(folder, 4, "Short one"))
    (folder / "b.jsonl").write_bytes(log_of(folder, 40, "Long one"))
    for name in ("b.jsonl", "a.jsonl"):
        assert ullage("import", folder / name, "--store", store).status == 0
    assert ullage("import", SAMPLE, "--store", store).status == 0
    shown = ullage_bytes("--store", store, "--json", cwd=folder)
    rows = json.loads(shown.out)["conversations"]
    assert [row["title"] for row in rows] == ["Long one: step 0", "Short one: step 0"]
    assert rows[0]["used"] > rows[1]["used"] > 0
    # In a folder of the project, the project's are shown.
    assert json.loads(ullage_bytes("--store", store, "--json", cwd=folder / "src").out)["conversations"] == rows
    text = ullage_bytes("--store", store, cwd=folder).out.decode()
    assert text.index("Long one") < text.index("Short one")
    newest = json.loads(ullage_bytes("context", "--store", store, "--json", cwd=folder).out)
    assert newest["title"] == "Short one: step 0"
    assert "Short one" in ullage_bytes("context", "--store", store, cwd=folder).out.decode().splitlines()[0]


def test_a_folder_without_conversations_is_told_what_to_do_and_no_store_is_made(store: Path, folder: Path) -> None:
    ended = ullage_bytes("--store", store, cwd=folder)
    assert ended.status == 0
    assert b"ullage wire" in ended.out
    for words in (["--stored"], ["search", "login"], ["here"]):
        assert ullage(*words, "--store", store).status in (0, 1)
    for words in (["export", "s_1"], ["export", "--events", "s_1"], ["context", "s_1"], ["messages", "s_1"]):
        assert ullage(*words, "--store", store).status == 2
    assert not store.parent.exists()


def test_a_session_is_named_by_the_beginning_of_its_id(store: Path) -> None:
    session = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    for name in (session, session[:10], session[2:10]):
        assert ullage("context", name, "--store", store, "--json").json["name"] == session
    wrong = session[:-1] + ("0" if session[-1] != "0" else "1")
    refused = ullage("context", wrong, "--store", store)
    assert refused.status == 2
    assert f"did you mean {session}?" in refused.err


def test_an_ambiguous_beginning_is_answered_by_the_candidates(store: Path, folder: Path) -> None:
    ids: list[str] = []
    for title in ("One", "Two"):
        (folder / title).write_bytes(log_of(folder, 4, title))
        ids.append(ullage("import", folder / title, "--store", store, "--json").json["session_id"])
    refused = ullage("undo", "s_", "--store", store)
    assert refused.status == 2
    assert refused.err.count("\n") == 1
    assert all(session in refused.err for session in ids)
    assert "One: step 0" in refused.err


def compacted(store: Path) -> tuple[str, Ran]:
    session = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    return session, ullage("compact", session, "--store", store)


def test_a_compaction_of_a_session_says_how_to_undo_it_and_undo_brings_everything_back(store: Path) -> None:
    session, report = compacted(store)
    assert f"ullage undo {session}" in report.out
    before = ullage("context", session, "--store", store, "--json").json
    dry = ullage("undo", session, "--dry-run", "--store", store, "--json").json
    assert ullage("context", session, "--store", store, "--json").json == before
    undone = ullage("undo", session[:12], "--store", store, "--json").json
    assert undone == {**dry, "dry_run": False}
    after = ullage("context", session, "--store", store, "--json").json
    assert (undone["before"], undone["after"]) == (before["used"], after["used"])
    assert undone["messages_back"] > 0
    assert after["messages_archived"] == 0
    nothing = ullage("undo", session, "--store", store)
    assert (nothing.status, nothing.err.count("\n")) == (2, 1)


def test_one_edit_is_undone_by_the_beginning_of_its_id(store: Path) -> None:
    session, _ = compacted(store)
    (edit,) = ullage("context", "--edits", session, "--store", store, "--json").json["edits"]
    unknown = ullage("undo", session, "e_nothing", "--store", store)
    assert edit["id"] in unknown.err
    assert ullage("undo", session, edit["id"][:14], "--store", store).status == 0
    (edit,) = ullage("context", "--edits", session, "--store", store, "--json").json["edits"]
    assert not edit["in_force"]


def test_sessions_are_deleted_together_or_not_at_all(store: Path) -> None:
    session = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    assert "give --yes" in ullage("forget", session, "--store", store).err
    assert ullage("forget", session, "s_unknown", "--yes", "--store", store).status == 2
    assert len(ullage("--stored", "--store", store, "--json").json["sessions"]) == 1
    assert "1 conversation read into the store" in ullage("forget", session[:10], "--yes", "--store", store).out
    assert ullage("--stored", "--store", store, "--json").json["sessions"] == []


def test_what_is_kept_of_a_deleted_session_alone_is_deleted_with_it(store: Path, tmp_path: Path) -> None:
    def kept() -> set[str]:
        hooks = {file.name for file in store.with_name(f"{store.name}.hooks").iterdir()}
        return hooks | {receipt["session"] for receipt in receipts_of(store)}

    ids: list[str] = []
    for name in ("5f0f2d1c-0001", "5f0f2d1c-0002"):
        transcript = tmp_path / f"{name}.jsonl"
        transcript.write_bytes(ClaudeLog(session=name).ask(f"Which port has {name}?").answer(9_000).data)
        ids.append(ullage("import", transcript, "--store", store, "--json").json["session_id"])
        note_receipt(str(store), {"session": name, "text": "> its text"}, {}, {})
        folder = store.with_name(f"{store.name}.hooks")
        folder.mkdir(exist_ok=True)
        for kind in ("brief", "taken"):
            (folder / f"{name}.{kind}").write_text("> its text")
    before = kept()
    assert len(before) == 6
    assert ullage("forget", ids[0], "--yes", "--store", store).status == 0
    assert kept() == {name for name in before if "0002" in name}


def test_a_message_has_the_same_number_in_summaries_lists_searches_and_stretches(store: Path) -> None:
    session, report = compacted(store)
    rows = {
        row["number"]: row
        for row in ullage("messages", session, "--store", store, "--json").json["messages"]
        if not row["inserted"]
    }
    assert sorted(rows) == list(range(1, 204))
    checked = 0
    for number, text in re.findall(r"^- #(\d+) (.{20,})$", report.out, re.MULTILINE):
        shown = ullage("search", "--conversation", session, "--show", f"#{number}", "--store", store)
        if text[:20] in " ".join(shown.out.split()):
            checked += 1
        if checked:
            break
    assert checked, report.out
    found = ullage("search", "GRACE_SECONDS", "--conversation", session, "--store", store, "--json").json
    hit = found["hits"][0]
    assert rows[hit["number"]]["id"] == hit["message_id"]
    first = ullage("compact", SAMPLE, "--up-to", "21", "--json").json["compaction"]
    second = ullage("compact", SAMPLE, "--up-to", f"#{21}", "--json").json["compaction"]
    assert first["messages_archived"] == second["messages_archived"]
    nowhere = ullage("compact", SAMPLE, "--from", "9999")
    assert "#1 to #203" in nowhere.err


def test_a_transcript_is_read_from_standard_input_and_unpacked(tmp_path: Path) -> None:
    data = SAMPLE.read_bytes()
    plain = ullage("context", SAMPLE, "--json").json
    packed = tmp_path / "sample"
    packed.write_bytes(gzip.compress(data))
    for words, stdin in ((["-"], data), (["-"], gzip.compress(data)), ([str(packed)], b"")):
        read = ullage("context", *words, "--json", stdin=stdin)
        assert read.status == 0, read.err
        assert read.json["used"] == plain["used"]
    cut = ullage("context", "-", stdin=b"")
    assert (cut.status, cut.err.count("\n")) == (2, 1)
    assert "standard input is empty" in cut.err


def test_importing_again_says_what_happened(store: Path, tmp_path: Path, folder: Path) -> None:
    path = folder / "log.jsonl"
    path.write_bytes(log_of(folder, 4))
    first = ullage("import", path, "--store", store)
    assert "before" not in first.out
    assert "nothing new" in ullage("import", path, "--store", store).out
    copy = tmp_path / "elsewhere.jsonl"
    copy.write_bytes(log_of(folder, 8))
    assert "4 messages added" in ullage("import", copy, "--store", store).out
    (session,) = ullage("--stored", "--store", store, "--json").json["sessions"]
    assert session["messages"] == 8
    other = log_of(folder, 8).replace(b"step 6", b"step six")
    copy.write_bytes(other)
    assert f"begins as {session['session_id']} does" in ullage("import", copy, "--store", store).out


@needs_bound_permissions
def test_a_read_only_store_is_listed_and_searched(store: Path) -> None:
    session = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    store.chmod(0o400)
    store.parent.chmod(0o500)
    try:
        assert session in ullage("--stored", "--store", store).out
        assert ullage("search", "GRACE_SECONDS", "--store", store).status == 0
        assert ullage("import", SAMPLE, "--store", store).status == 2
    finally:
        store.parent.chmod(0o700)


def test_a_compaction_of_a_file_shows_the_size_that_context_shows(folder: Path) -> None:
    path = folder / "log.jsonl"
    # The agent reports 30,000 tokens more than its log holds: its own prompt and tools.
    usage = b'"usage":{"input_tokens":38000,"output_tokens":10},"content":[{"type":"text","text":"Done. '
    said = log_of(folder, 40).replace(b'"content":[{"type":"text","text":"Done.', usage + b"It works. " * 100)
    path.write_bytes(said)
    size = ullage("context", path, "--json").json["used"]
    report = ullage("compact", path, "--budget", "4k")
    assert report.status == 0, report.err
    (line,) = [line for line in report.out.splitlines() if " → " in line and "Context" in line]
    before, after = (int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line))
    assert before == size
    assert f"Now       {after:,} tokens" in report.out
    compacted = ullage("compact", path, "--budget", "4k", "--json").json
    assert compacted["used"] <= 4_000
    assert compacted["used"] + compacted["hidden_kept"] == after
    assert f"{compacted['hidden_kept']:,} that stay" in report.out


def test_a_file_is_read_with_what_the_store_has_learned_of_its_agent(store: Path, tmp_path: Path) -> None:
    fresh = ClaudeLog().ask("Another one.").answer(60_000)
    (tmp_path / "fresh.jsonl").write_bytes(fresh.data)
    assert shown_threshold(tmp_path / "fresh.jsonl", store) == ("rule", 0)
    for tokens in (168_400, 168_100, 169_000):
        # A prompt that is due is what the agent compacts for.
        log = ClaudeLog().ask().answer(tokens - 500).ask("And now?").compact(tokens).answer(40_000)
        log.rename(f"of {tokens}")
        (tmp_path / f"{tokens}.jsonl").write_bytes(log.data)
        assert ullage("import", tmp_path / f"{tokens}.jsonl", "--store", store).status == 0
    assert shown_threshold(tmp_path / "fresh.jsonl", store) == ("learned", 3)


def shown_threshold(file: Path, store: Path) -> tuple[str, int]:
    shown = ullage("context", file, "--store", store, "--json").json
    return shown["compacts_at_source"], shown["compacts_at_times"]


def test_what_an_agent_keeps_is_not_edited_and_every_figure_stays_the_agents(tmp_path: Path, store: Path) -> None:
    log = ClaudeLog().ask("Fix it. " * 400).answer(166_500).compact(167_094).ask("Go on. " * 400).answer(40_000)
    agents = tmp_path / "claude"
    own = agents / "projects" / "-home-me-shop" / "s-claude.jsonl"
    own.parent.mkdir(parents=True)
    own.write_bytes(log.data)
    env = {"CLAUDE_CONFIG_DIR": str(agents)}
    imported = ullage("import", own, "--json", "--store", store, env=env).json
    session_id = imported["session_id"]
    for arguments in (["undo"], ["undo", "--dry-run"], ["compact"], ["compact", "--budget", "300"]):
        refused = ullage(*arguments, session_id, "--store", store, env=env)
        assert (refused.status, refused.out) == (2, "")
        assert "is a conversation of Claude Code, which Ullage only reads" in refused.err
        assert f"`ullage continue {session_id}` (with `--before-compaction`" in refused.err
    assert ullage("context", session_id, "--json", "--store", store, env=env).json["used"] == 40_050
    made = ullage("continue", session_id, "--before-compaction", "--preview", "--store", store, env=env)
    assert made.status == 0
    drawn = ullage("compact", own, "--budget", "9000", "--store", store, env=env)
    assert (drawn.status, "Nothing to compact" in drawn.out) == (0, True)
    assert ullage("import", own, "--json", "--store", store, env=env).json["outcome"] == "unchanged"
