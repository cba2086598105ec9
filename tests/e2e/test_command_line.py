"""The command line as programs and users use it, run as a real process."""

from pathlib import Path

import msgspec
import pytest

from support.claude_log import ClaudeLog
from support.command_line import SAMPLE, ullage
from support.provider_rules import anthropic_violations, openai_violations

# What programs read of a compaction; there is more.
KEYS = {"version", "messages", "used", "size", "source", "edits", "compaction"}
RULES = {"anthropic": anthropic_violations, "openai": openai_violations}
# Port 9 is the discard port. No program listens there.
NOWHERE = "http://127.0.0.1:9"
NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store" / "sessions.db"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which port does the service use? " + "It matters. " * 300},
        {"role": "assistant", "content": "Port 8042. " + "I looked it up. " * 300},
        {"role": "user", "content": "And the database?"},
        {"role": "assistant", "content": "SQLite, in data/app.db."},
        {"role": "user", "content": "Thanks. Please write that down."},
    ]
    path.write_bytes(msgspec.json.encode({"model": "gpt-4o", "messages": talk}))
    return path


@pytest.mark.parametrize("provider", RULES)
def test_compact_prints_the_contracts_object_within_the_budget(provider: str) -> None:
    ran = ullage("compact", SAMPLE, "--budget", "8000", "--provider", provider, "--json")
    assert ran.status == 0, ran.err
    assert ran.err == ""
    assert set(ran.json) >= KEYS
    assert ("system" in ran.json) == (provider == "anthropic")
    assert 0.9 * 8000 <= ran.json["used"] <= 8000
    assert ran.json["source"] == "estimated"
    assert ran.json["compaction"]["context_size_after"] <= 8000
    assert [edit["kind"] for edit in ran.json["edits"]][-1] == "compaction"
    assert RULES[provider](ran.json["messages"]) == []


def test_context_prints_a_small_object_with_a_breakdown_that_sums_up() -> None:
    ran = ullage("context", SAMPLE, "--json", "--window", "32k")
    assert ran.json["version"] == 1
    assert ran.json["window"] == 32_000
    assert ran.json["window_source"] is not None
    assert sum(ran.json["breakdown"].values()) == ran.json["used"]
    assert not {"messages", "system"} & set(ran.json)
    assert len(ran.out) < 3_000
    whole = ullage("context", SAMPLE, "--json", "--messages").json
    assert anthropic_violations(whole["messages"]) == []


def test_context_within_the_budget_comes_out_unchanged(transcript: Path) -> None:
    plain = ullage("context", transcript, "--json", "--messages").json
    compacted = ullage("compact", transcript, "--budget", "100000", "--json").json
    assert compacted["messages"] == plain["messages"]
    assert compacted["compaction"] is None
    assert compacted["edits"] == []


def test_at_takes_the_first_messages_only(transcript: Path) -> None:
    ran = ullage("context", transcript, "--at", "4", "--json", "--messages", "--provider", "openai")
    assert [message["role"] for message in ran.json["messages"]] == ["system", "user", "assistant", "user"]


def test_unknown_window_is_null_unless_given(transcript: Path) -> None:
    assert ullage("context", transcript, "--model", "nobody-1", "--json").json["window"] is None
    assert ullage("context", transcript, "--model", "nobody-1", "--window", "9000", "--json").json["window"] == 9000


def test_work_on_a_file_touches_neither_the_file_nor_the_store(transcript: Path, store: Path) -> None:
    before = transcript.read_bytes(), transcript.stat().st_mtime_ns
    for command in (["context"], ["compact"], ["compact", "--budget", "900"]):
        assert ullage(*command, transcript, "--store", store).status == 0
    assert (transcript.read_bytes(), transcript.stat().st_mtime_ns) == before
    assert not store.exists()


def test_output_goes_to_a_file_but_never_to_the_transcript(transcript: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    ran = ullage("compact", transcript, "--budget", "900", "--json", "-o", out)
    assert (ran.status, ran.out) == (0, "")
    assert set(msgspec.json.decode(out.read_bytes())) >= KEYS
    printed = ullage("compact", transcript, "--budget", "900", "-o", "-")
    assert printed.json["messages"] == msgspec.json.decode(out.read_bytes())["messages"]
    refused = ullage("compact", transcript, "-o", transcript)
    assert refused.status == 2
    assert "never written to" in refused.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["context", "no-such-thing"], "no such file"),
        (["context", str(Path(__file__))], "not a transcript of a known format"),
        (["context", str(SAMPLE), "--format", "nonsense"], "unknown format"),
        (["context", str(SAMPLE), "--window", "-3"], "--window"),
        (["compact", str(SAMPLE), "--budget", "0"], "--budget"),
        (["compact", str(SAMPLE), "--budget", "30"], "too small"),
        (["compact", str(SAMPLE), "--summarizer", "gpt-4o"], "unrecognized arguments: --summarizer"),
        (["import", "no-such-file"], "No such file"),
        (["export", "no-such-session"], "no-such-session"),
        (["search", "..."], "word"),
        (["search", "--show", "m_1"], "--conversation"),
        (["acp", "--settings", "no-such-file"], "cannot read"),
        (["acp", "--settings", '{"model":'], "not JSON"),
        (["acp", "--settings", '{"context":{"warnAt":7}}'], "--settings: $.context.warnAt"),
        (["acp", "--settings", '{"modle":1}'], "there is no setting 'modle'"),
        (["acp", "--", "agent", "--verbose"], "cannot start the agent"),
        (["acp", "--", "agent", "--then"], "is missing before or after --then"),
        (["acp", "--in-chain", "--", "agent"], "--in-chain takes no agent"),
        (["frobnicate"], "frobnicate"),
        (["--cwd", "/no/such/folder"], "no such folder"),
        (["context"], "no conversation of"),
        (["undo", "s_1"], "no stored session"),
        (["forget", "s_1", "--yes"], "no stored session"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: list[str], says: str, store: Path) -> None:
    # In a home folder where no agent has kept anything.
    home = {"HOME": str(store.parent), "USERPROFILE": str(store.parent)}
    given = ["--store", str(store)] if arguments[:1] not in (["frobnicate"], ["acp"]) else []
    ran = ullage(*arguments, *given, env=home)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert says in ran.err


def test_session_is_imported_listed_compacted_searched_and_exported(store: Path, tmp_path: Path) -> None:
    imported = ullage("import", SAMPLE, "--store", store, "--json").json
    session_id = imported["session_id"]
    assert imported["messages"] == 203
    listed = ullage("--stored", "--store", store, "--json").json["sessions"]
    assert [session["session_id"] for session in listed] == [session_id]

    compacted = ullage("compact", session_id, "--store", store, "--budget", "9000", "--json").json
    assert compacted["used"] <= 9_000
    assert ullage("context", session_id, "--store", store, "--json").json["used"] == compacted["used"]

    asked = ullage("search", "How many seconds is the grace window?", "--store", store, "--json").json["hits"]
    found = ullage("search", "GRACE_SECONDS", "--store", store, "--conversation", session_id)
    assert found.status == 0
    assert session_id in found.out
    assert f"#{asked[0]['number']} " in found.out
    for name in (asked[0]["message_id"], f"#{asked[0]['number']}", str(asked[0]["number"])):
        shown = ullage("search", "--show", name, "--conversation", session_id[:12], "--store", store)
        assert "GRACE_SECONDS" in shown.out

    export = tmp_path / "export.jsonl"
    assert ullage("export", session_id, "--store", store, "-o", export).status == 0
    assert ullage("context", export, "--json").json["used"] == compacted["used"]
    request = ullage("export", session_id, "--store", store, "--as", "anthropic").json
    assert anthropic_violations(request["messages"]) == []


def test_each_conversation_of_a_folder_is_imported_once_and_what_is_none_is_said(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "old"
    folder.mkdir(parents=True)
    for name, session in (("one", "1"), ("two", "2")):
        log = (
            ClaudeLog(session=f"{session * 8}-0000-4000-8000-000000000000", cwd="/p").ask(f"Which {name}?").answer(900)
        )
        (folder / f"{name}.jsonl").write_bytes(log.data)
    (folder / "notes.txt").write_text("No conversation.")
    report = ullage("import", folder.parent, "--store", store, "--json").json
    assert [(one["title"], one["outcome"]) for one in report["imported"]] == [
        ("Which one?", "new"),
        ("Which two?", "new"),
    ]
    assert report["unread_files"] == []
    again = ullage("import", folder.parent, "--store", store)
    assert again.out.splitlines()[-1] == "2 conversations of 2 imported."
    assert again.out.count("unchanged") == 2
    assert len(ullage("--stored", "--store", store, "--json").json["sessions"]) == 2


def test_a_terminal_gets_lines_instead_of_json(store: Path, transcript: Path) -> None:
    assert f"No conversation is kept in {store} yet" in ullage("--stored", "--store", store).out
    imported = ullage("import", transcript, "--store", store)
    assert imported.out.splitlines()[-1] == f"What fills it: ullage context {imported.out.split()[0]}"
    assert "6 messages, openai-messages" in imported.out
    assert "Context: " in imported.out
    listed = ullage("--stored", "--store", store, "--ascii").out
    assert listed.splitlines()[1].startswith(imported.out.split()[0])
    assert "gpt-4o" in listed
    assert ullage("search", "quincunx", "--store", store).status == 1
    near = ullage("search", "quincunx kubernetes ingress SQLite", "--store", store)
    assert near.out.startswith("Nothing fits 'quincunx kubernetes ingress SQLite' well")
    assert any("SQLite" in line for line in near.out.splitlines()[1:])
    assert ullage("search", "SQLite", "--store", store, "--json").json["hits"][0]["role"] == "assistant"


def test_import_names_what_could_not_be_read(store: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(SAMPLE.read_bytes()[:-20])
    for command in (["import", str(torn), "--store", str(store)], ["context", str(torn)], ["compact", str(torn)]):
        assert "1 line not read:\n  line 206: " in ullage(*command).out
    assert [line["line"] for line in ullage("context", torn, "--json").json["unread_lines"]] == [206]


def test_looking_at_a_session_otherwise_leaves_it_as_it_is(store: Path) -> None:
    session_id = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    before = ullage("context", session_id, "--store", store, "--json").json
    shortened = ullage("compact", session_id, "--store", store, "--at", "60", "--budget", "4000", "--json").json
    assert shortened["compaction"] is not None
    assert ullage("context", session_id, "--store", store, "--window", "50000", "--json").json["window"] == 50_000
    assert ullage("context", session_id, "--store", store, "--json").json == before


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("80", 80), ("200", 200), ("20", 40), ("500", 200)])
def test_boxes_are_as_wide_as_asked_and_plain_without_a_terminal(transcript: Path, columns: str, width: int) -> None:
    drawn = ullage("context", transcript, "--ascii", env={"COLUMNS": columns}).out
    assert {len(line) for line in drawn.splitlines()} == {width}
    assert drawn.isascii()
    report = ullage("compact", transcript, "--budget", "900", "--ascii").out
    for word in ("Removed", "Saved", "## "):
        assert word in report


def test_report_says_when_nothing_could_go(tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text('[{"role": "user", "content": "Hello"}]')
    assert "Nothing to compact: 1 message" in ullage("compact", talk).out


def test_report_says_what_else_was_cut(tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    read = {"type": "tool_use", "id": "call-1", "name": "Read", "input": {"path": "a.txt"}}
    result = {"type": "tool_result", "tool_use_id": "call-1", "content": "word " * 5_000}
    messages = [("user", "Read it."), ("assistant", [read]), ("user", [result])]
    talk.write_bytes(msgspec.json.encode([{"role": role, "content": content} for role, content in messages]))
    assert "shorten" in ullage("compact", talk, "--budget", "800").out


def test_doctor_finds_nothing_wrong_where_no_key_is_set(store: Path) -> None:
    ran = ullage("doctor", "--store", store, env=NO_KEYS)
    assert ran.status == 0, ran.out
    assert "set ANTHROPIC_API_KEY" in ran.out


def test_doctor_says_which_provider_does_not_answer_and_shows_no_key(store: Path) -> None:
    nowhere = {"ANTHROPIC_API_KEY": "very-secret", "ANTHROPIC_BASE_URL": NOWHERE}
    ran = ullage("doctor", "--store", store, "--json", env={**NO_KEYS, **nowhere})
    assert ran.status == 1
    assert "very-secret" not in ran.out + ran.err
    failed = [check for check in ran.json["checks"] if check["remedy"]]
    assert [check["what"] for check in failed] == ["anthropic"]
    assert "ANTHROPIC_API_KEY" in failed[0]["found"]
    assert not ran.json["ok"]


def test_doctor_checks_a_provider_described_on_the_command_line(store: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text("say: Hello.")
    ran = ullage("doctor", "--store", store, "--provider", "mine", "--kind", "scripted", "--file", script)
    assert ran.status == 0, ran.out
    assert "mine" in ran.out
    assert "plays a script of 1 answers" in ran.out

    ran = ullage("doctor", "--store", store, "--provider", "mine", "--base-url", NOWHERE)
    assert ran.status == 1
    assert f"correct its address {NOWHERE}" in " ".join(ran.out.split())
    assert "needs no key" in ran.out

    ran = ullage("doctor", "--store", store, "--provider", "mine")
    assert ran.status == 2
    assert "--base-url" in ran.err


def test_a_key_without_the_providers_package_is_nothing_to_mend_unless_the_provider_is_asked_for(
    store: Path, tmp_path: Path
) -> None:
    hide = "import sys; sys.modules['anthropic'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hide)
    env = {**NO_KEYS, "ANTHROPIC_API_KEY": "very-secret", "PYTHONPATH": str(tmp_path)}
    ran = ullage("doctor", "--store", store, "--json", env=env)
    assert ran.status == 0
    checks = {check["what"]: check for check in ran.json["checks"]}
    assert "- anthropic, for summaries by Anthropic's models: " in checks["extras"]["found"]
    assert checks["anthropic"]["status"] == "absent"
    install = "pip install 'anthropic>=2' 'httpx2>=2'`"
    assert install in checks["anthropic"]["found"]
    ran = ullage("doctor", "--store", store, "--json", "--provider", "anthropic", env=env)
    assert ran.status == 1
    assert install in next(check for check in ran.json["checks"] if check["what"] == "anthropic")["remedy"]


def test_doctor_says_what_to_fix(tmp_path: Path) -> None:
    broken = tmp_path / "sessions.db"
    broken.write_bytes(b"this is no database " * 100)
    ran = ullage("doctor", "--store", broken)
    assert ran.status == 1
    assert "FIX  store" in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_schema_prints_protocol_and_settings() -> None:
    assert "AppendParams" in ullage("schema").json["$defs"]
    assert "context.warnAt" in ullage("schema", "settings").json["properties"]


def test_of_a_file_with_several_conversations_one_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    runs = [
        {"task_id": number, "traj": [{"role": "user", "content": f"Question {number}"}] * (number + 1)}
        for number in range(3)
    ]
    path.write_bytes(msgspec.json.encode(runs))
    longest = ullage("context", path, "--window", "8000", "--json", "--messages").json
    first = ullage("context", path, "--window", "8000", "--run", "1", "--json", "--messages").json
    assert "Question 2" in str(longest["messages"])
    assert "Question 0" in str(first["messages"])
    missing = ullage("context", path, "--window", "8000", "--run", "9")
    assert missing.status == 2
    assert missing.err.count("\n") == 1


def test_the_edits_of_a_session_are_listed_with_what_each_saved(store: Path) -> None:
    session = ullage("import", SAMPLE, "--json", "--store", store).json["session_id"]
    assert (
        ullage("context", "--edits", session, "--store", store).out
        == "No edits: the context is the whole conversation.\n"
    )
    compacted = ullage("compact", session, "--json", "--store", store).json["compaction"]
    (edit,) = ullage("context", "--edits", session, "--json", "--store", store).json["edits"]
    assert edit["messages"] == compacted["messages_archived"]
    table = ullage("context", "--edits", session, "--ascii", "--store", store).out.splitlines()
    assert table[0].split() == ["Edit", "When", "What", "Context", "By"]
    assert edit["id"] in table[1]
    assert f"{edit['words']} " in table[1]
    assert "->" in table[1]
    assert table[1].endswith("manual")


def test_a_stretch_is_compacted_by_the_numbers_of_its_messages() -> None:
    whole = ullage("context", SAMPLE, "--json").json
    early = ullage("compact", SAMPLE, "--up-to", "21", "--json").json
    late = ullage("compact", SAMPLE, "--from", "22", "--json").json
    assert 0 < early["used"] < whole["used"] > late["used"] > 0
    assert early["compaction"]["messages_archived"] + late["compaction"]["messages_archived"] > 30
    nowhere = ullage("compact", SAMPLE, "--from", "9999")
    assert (nowhere.status, nowhere.err.count("\n")) == (2, 1)
    assert "9999" in nowhere.err
    both = ullage("compact", SAMPLE, "--from", "3", "--budget", "4000")
    assert both.status == 2
    assert "--budget" in both.err
