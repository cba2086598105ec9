"""The words of released agents that Ullage does not know, found in made-up programs."""

import tarfile
from io import BytesIO
from pathlib import Path

import newest_words
from newest_words import PROGRAMS, Words

KNOWN = frozenset({"nestedmemory", "skilllisting", "todoreminder", "taskstatus", "readfile", "bash", "grep", "auto"})
OWN = frozenset({"nestedmemory", "skilllisting", "todoreminder", "taskstatus"})


def test_a_new_word_in_a_list_of_records_is_found_in_arrays_and_branches() -> None:
    array = b'new Set(["nested_memory","skill_listing","goal_status","todo_reminder"])'
    branches = b'case"nested_memory":return a;case"skill_listing":case"mood":x();break;case"task_status":default:'
    assert newest_words.listed(array, OWN, KNOWN) == {"goal_status"}
    assert newest_words.listed(branches, OWN, KNOWN) == {"mood"}


def test_lists_of_other_things_are_left_out_even_if_they_have_a_word_of_ours() -> None:
    foreign = b'["nested_memory","red","green","blue"],["skill_listing","todo_reminder","a1","b1","c1","d1","e1","f1"]'
    assert newest_words.listed(foreign, OWN, KNOWN) == set()
    far = (
        b'type:"nested_memory"' + b" " * 400 + b'type:"skill_listing"' + b" " * 400 + b'type:"todo_reminder",type:"x1"'
    )
    assert newest_words.listed(far, OWN, KNOWN) == set()


def test_a_new_word_between_known_ones_of_a_compiled_program_is_found() -> None:
    text = b"\0turn_contexttoken_usage_recordsecurity_risk_scoreworld_state\0and_words"
    own = ["turn_context", "token_usage_record", "world_state"]
    assert newest_words.glued(text, own, frozenset()) == {"security_risk_score"}
    assert newest_words.glued(text, own, frozenset({"securityriskscore"})) == set()
    assert newest_words.glued(b"turn_context: 3 other_word world_state", own, frozenset()) == set()


def test_keys_of_a_schema_about_compaction_are_found_and_others_are_not() -> None:
    text = (
        b'{autoCompactWindow:v().int().optional(),idleCompaction:()=>M().optional().describe("x"),theme:z.string()'
        b'.optional()},compaction_model: { type: "string" }, lastCompactedAt:e.at,compactNow:()=>go()}'
    )
    known = frozenset({"autocompactwindow"})
    assert newest_words.settings(text, known) == {"idleCompaction", "compaction_model"}


def test_a_long_identifier_is_read_in_no_time() -> None:
    assert newest_words.settings(b"{" + b"aA_" * 200_000 + b"!", frozenset()) == set()


def test_variables_and_triggers_are_found_by_what_is_near_them() -> None:
    text = (
        b"process.env.AGENT_COMPACT_AFTER,AGENT_THEME,OTHER_COMPACT_AFTER "
        b'compact({trigger:"auto"}),compact({trigger:"idle"})' + b" " * 500 + b'door({trigger:"open"})'
    )
    assert newest_words.variables(text, "AGENT|MORE", KNOWN) == {"AGENT_COMPACT_AFTER"}
    assert newest_words.triggers(text, KNOWN) == {"idle"}


def test_what_is_known_comes_from_ullages_own_code_and_from_the_document() -> None:
    claude = next(program for program in PROGRAMS if program.name == "claude-code")
    words = newest_words.known_of(claude, "| `idleCompaction`, `goal_status` | not read |")
    assert {"idlecompaction", "goalstatus", "compactboundary", "autocompactwindow"} <= words.known
    assert "nestedmemory" in words.own
    assert "bash" in words.tools


def test_a_word_found_in_a_package_is_printed_once_by_its_kind(tmp_path: Path) -> None:
    archive = tmp_path / "agent.tgz"
    text = b'["nested_memory","skill_listing","goal_status","todo_reminder"];a={trigger:"idle",compact:1}'
    with tarfile.open(archive, "w:gz") as packed:
        for name in ("package/a.js", "package/copy.js", "package/node_modules/b.js", "package/c.png"):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            packed.addfile(member, BytesIO(text))
    assert list(newest_words.texts_of(archive)) == [text]
    program = PROGRAMS[-1]
    found = newest_words.unknown(program, [text], Words(own=OWN, tools=frozenset(), known=KNOWN))
    assert {kind: words for kind, words in found.items() if words} == {"records": {"goal_status"}}


def test_each_program_has_the_files_that_know_it() -> None:
    known = {
        program.name: [path.stem for path in newest_words.sources_of(program)]
        for program in PROGRAMS
        if program.folders
    }
    assert [name for name, files in known.items() if not files] == []
    assert known["opencode"] == ["opencode", "opencode_sessions"]
    assert {"rollout", "__init__"} <= {*known["codex"]}
