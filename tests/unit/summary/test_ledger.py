"""The ledger: which files and commands each agent's tools touched."""

from typing import Any

import pytest

from support.conversations import agent, bash, call, places, user
from support.counting import LengthCounter
from ullage.model.artifacts import ArtifactLedger, CommandArtifact, FileAction, FileArtifact, Outcome
from ullage.model.marker import render_ledger
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.ledger import collect, fit, merge
from ullage.summary.summary_request import SummaryRequest

FILE_CALLS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("Read", {"file_path": "src/a.py"}, {"src/a.py": "read"}),
    ("Write", {"file_path": "src/a.py", "content": "x"}, {"src/a.py": "created"}),
    ("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, {"src/a.py": "modified"}),
    ("MultiEdit", {"file_path": "src/a.py", "edits": []}, {"src/a.py": "modified"}),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "1"}, {"a.ipynb": "modified"}),
    ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}, {"a.py": "read"}),
    ("str_replace_based_edit_tool", {"command": "create", "path": "a.py"}, {"a.py": "created"}),
    ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, {"a.py": "modified"}),
    ("open", {"path": "setup.py"}, {"setup.py": "read"}),
    ("create", {"filename": "new.py"}, {"new.py": "created"}),
    ("read_file", {"path": "a.rs"}, {"a.rs": "read"}),
    ("Grep", {"pattern": "x", "path": "src"}, {}),
    (
        "apply_patch",
        {"input": "*** Add File: n.rs\n+x\n*** Update File: o.rs\n*** Delete File: d.rs"},
        {"n.rs": "created", "o.rs": "modified", "d.rs": "deleted"},
    ),
    ("apply_patch", {"changes": {"lib.rs": {"update": {"unified_diff": "@@"}}}}, {"lib.rs": "modified"}),
    ("shell", {"command": ["bash", "-lc", "cat src/main.rs"]}, {"src/main.rs": "read"}),
    ("execute_bash", {"command": "sed -i 's/a/b/' x.py && rm old.py"}, {"x.py": "modified", "old.py": "deleted"}),
    ("bash", {"command": "sed -n '1,20p' x.py"}, {"x.py": "read"}),
    ("bash", {"command": "cat <<'EOF' > run.py\nopen('trap.py')\nrm nothing.py\nEOF"}, {"run.py": "created"}),
    ("bash", {"command": "echo hi >> log.txt; ls 2>&1 > /dev/null"}, {"log.txt": "modified"}),
    ("bash", {"command": "mv a.py b.py && touch c.py"}, {"a.py": "deleted", "b.py": "created", "c.py": "created"}),
    ("bash", {"command": "cat *.py $FILE"}, {}),
    ("bash", {"command": "cd pkg && cat a.py"}, {"pkg/a.py": "read"}),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), FILE_CALLS)
def test_files_a_call_touches_are_recorded(name: str, arguments: dict[str, Any], expected: dict[str, str]) -> None:
    ledger = collect(call(name, arguments, "ok"), (0, 1))
    assert {file.path: file.action.value for file in ledger.files} == expected


def test_a_failed_edit_changes_nothing() -> None:
    messages = call("Edit", {"file_path": "a.py"}, "old_string not found", is_error=True)
    assert collect(messages, places(messages)).files == ()


@pytest.mark.parametrize(
    ("before", "written", "action"),
    [
        (call("Read", {"file_path": "a.py"}, "x = 1", call_id="r"), "File created.", FileAction.MODIFIED),
        (call("Read", {"file_path": "a.py"}, "No such file.", call_id="r", is_error=True), "ok", FileAction.CREATED),
        (
            bash("cat a.py", "cat: a.py: No such file or directory", call_id="r", is_error=True),
            "ok",
            FileAction.CREATED,
        ),
        (bash("rm a.py", "", call_id="r"), "File created.", FileAction.CREATED),
        ((), "The file a.py has been updated. This is a snippet of it:", FileAction.MODIFIED),
        ((), "Successfully overwrote file: a.py", FileAction.MODIFIED),
    ],
)
def test_a_file_that_was_there_was_not_created(before: tuple[Message, ...], written: str, action: FileAction) -> None:
    messages = (*before, *call("Write", {"file_path": "a.py", "content": "x = 2"}, written, call_id="w"))
    assert [(file.path, file.action) for file in collect(messages, places(messages)).files] == [("a.py", action)]


def test_a_file_that_could_not_be_read_is_not_listed() -> None:
    messages = call("Read", {"file_path": "a.py"}, "No such file.", is_error=True)
    assert collect(messages, places(messages)).files == ()


def test_a_command_in_fenced_text_is_run_by_the_next_message() -> None:
    messages = (
        agent("THOUGHT: run it.\n\n```bash\npython -m pytest tests/test_a.py\n```"),
        user("<returncode>1</returncode>\n<output>\n==== 1 failed, 3 passed in 0.12s ====\n</output>"),
    )
    (command,) = collect(messages, places(messages, 10)).commands
    assert command.command == "python -m pytest tests/test_a.py"
    assert (command.outcome, command.is_test, command.last_index) == (Outcome.FAILED, True, 10)
    assert command.detail == "1 failed, 3 passed in 0.12s"


OUTPUTS = [
    ("pytest", "==== 12 passed in 0.3s ====", Outcome.PASSED, "12 passed in 0.3s"),
    (
        "npx jest",
        "Tests:       1 failed, 4 passed, 5 total",
        Outcome.FAILED,
        "Tests:       1 failed, 4 passed, 5 total",
    ),
    (
        "cargo test",
        "test result: ok. 8 passed; 0 failed; 0 ignored",
        Outcome.PASSED,
        "test result: ok. 8 passed; 0 failed; 0 ignored",
    ),
    ("go test ./...", "FAIL\texample.com/x\t0.01s", Outcome.FAILED, "FAIL\texample.com/x\t0.01s"),
    ("mix test", "14 doctests, 68 tests, 0 failures", Outcome.PASSED, "14 doctests, 68 tests, 0 failures"),
    (
        "python run.py",
        "Traceback (most recent call last):\n  File 'x'\nValueError: no such key",
        Outcome.FAILED,
        "ValueError: no such key",
    ),
    ("make build", "done", Outcome.UNKNOWN, ""),
    ("make build", "exit code: 2\nerror: missing rule", Outcome.FAILED, "error: missing rule"),
]


@pytest.mark.parametrize(("command", "output", "outcome", "detail"), OUTPUTS)
def test_the_outcome_and_the_telling_line_come_from_the_output(
    command: str, output: str, outcome: Outcome, detail: str
) -> None:
    (found,) = collect(bash(command, output), (0, 1)).commands
    assert (found.outcome, found.detail) == (outcome, detail)


def test_commands_that_only_look_are_left_out() -> None:
    messages = (*bash("ls -la", "x"), *bash("git status && grep -n x a.py | head", "y"), *bash("make docs", "z"))
    assert [command.command for command in collect(messages, places(messages)).commands] == ["make docs"]


def test_commands_that_only_change_files_or_the_repository_are_left_out_unless_they_failed() -> None:
    changes = "git add -A && git commit -m x", "sed -i 's/a/b/' a.py", "mkdir -p out && cp a.py out/"
    changed = [message for number, line in enumerate(changes) for message in bash(line, "", call_id=f"c{number}")]
    failed = bash("git push origin main", "error: failed to push some refs", is_error=True, call_id="p")
    messages = (*changed, *failed, *bash("cp a.py out/ && make docs", "ok", call_id="m"))
    found = [command.command for command in collect(messages, places(messages)).commands]
    assert sorted(found) == ["cp a.py out/ && make docs", "git push origin main"]


def test_paths_stand_as_the_agent_wrote_them() -> None:
    paths = ("/home/me/proj/src/a.py", "/home/me/proj/tests/b.py", "README.md")
    messages: list[Message] = []
    for number, path in enumerate(paths):
        messages.extend(call("Read", {"file_path": path}, "text", call_id=f"c{number}"))
    assert {file.path for file in collect(messages, places(messages)).files} == set(paths)


def paths(*named: str) -> list[str]:
    messages = [part for path in named for part in call("Edit", {"file_path": path}, "ok", call_id=path)]
    return sorted(file.path for file in collect(messages, places(messages)).files)


def test_a_file_named_once_relatively_and_once_absolutely_is_listed_once() -> None:
    assert paths("/w/app/src/a.py", "src/a.py") == ["/w/app/src/a.py"]
    assert paths("src/a.py", "/w/app/src/a.py", "b.py", "/w/app/b.py") == ["/w/app/b.py", "/w/app/src/a.py"]
    assert paths("/w/app/a.py", "/w/app/src/b.py", "a.py") == ["/w/app/a.py", "/w/app/src/b.py"]


def test_a_relative_path_that_may_name_another_file_is_listed_by_itself() -> None:
    assert paths("/w/a/src/a.py", "/w/b/src/a.py", "src/a.py") == ["/w/a/src/a.py", "/w/b/src/a.py", "src/a.py"]
    assert paths("README.md", "/w/docs/README.md", "/w/src/a.py") == ["/w/docs/README.md", "/w/src/a.py", "README.md"]


def test_a_file_that_an_earlier_ledger_names_absolutely_is_listed_once() -> None:
    earlier = FileArtifact(path="/w/src/a.py", action=FileAction.CREATED, times=2)
    later = FileArtifact(path="src/a.py", action=FileAction.MODIFIED, last_index=9)
    (file,) = merge(ArtifactLedger(files=(earlier,)), ArtifactLedger(files=(later,))).files
    assert file == FileArtifact(path="/w/src/a.py", action=FileAction.CREATED, times=3, last_index=9)


def test_names_the_agent_speaks_of_are_kept_with_the_words_around_them() -> None:
    messages = (agent("The bug is in `parse_header`: it drops the charset."),)
    (name,) = collect(messages, places(messages)).identifiers
    assert name.name == "parse_header"
    assert "drops the charset" in name.context


def test_a_model_gets_identifiers_as_names_and_not_as_pieces_of_sentences() -> None:
    messages = (agent("The bug is in `parse_header`: it drops the charset of `MailReader`."),)
    text = render_ledger(collect(messages, places(messages)))
    assert sorted(text.removeprefix("## Identifiers\n- ").split(", ")) == ["`MailReader`", "`parse_header`"]


def test_merging_lets_the_newer_outcome_win_and_adds_up_counts() -> None:
    old = ArtifactLedger(
        files=(FileArtifact(path="a.py", action=FileAction.CREATED, times=2, last_index=4),),
        commands=(CommandArtifact(command="pytest", outcome=Outcome.FAILED, is_test=True, last_index=5),),
    )
    new = ArtifactLedger(
        files=(FileArtifact(path="a.py", action=FileAction.MODIFIED, times=1, last_index=9),),
        commands=(CommandArtifact(command="pytest", outcome=Outcome.PASSED, is_test=True, last_index=8),),
    )
    merged = merge(old, new)
    assert merged.files == (FileArtifact(path="a.py", action=FileAction.CREATED, times=3, last_index=9),)
    assert (merged.commands[0].outcome, merged.commands[0].times) == (Outcome.PASSED, 2)


def test_a_file_that_was_deleted_last_is_deleted() -> None:
    messages = (*call("Write", {"file_path": "a.py"}, call_id="1"), *bash("rm a.py"))
    assert collect(messages, places(messages)).files[0].action is FileAction.DELETED


def test_a_file_that_was_read_after_it_was_deleted_is_there_again() -> None:
    def actions(seen: str) -> list[FileAction]:
        messages = (*bash("rm a.diff && ./write_diff", "ok"), *bash("cat a.diff || true", seen))
        return [file.action for file in collect(messages, places(messages)).files]

    assert actions("+x = 1") == [FileAction.MODIFIED]
    assert actions("cat: a.diff: No such file or directory") == [FileAction.DELETED]


def test_fitting_keeps_changed_files_before_read_ones() -> None:
    files = [FileArtifact(path=f"src/read_{n}.py", action=FileAction.READ, last_index=100 + n) for n in range(50)]
    changed = FileArtifact(path="src/changed.py", action=FileAction.MODIFIED, last_index=1)
    fitted = fit(merge(ArtifactLedger(), ArtifactLedger(files=(*files, changed))), 30, LengthCounter())
    assert changed in fitted.files
    assert len(fitted.files) < 10


def test_a_command_has_the_outcome_that_the_messages_after_the_archived_ones_show() -> None:
    failed = bash("pytest -q 2>&1 | tail -20", "==== 1 failed in 0.1s ====", is_error=True, call_id="a")
    assert outcomes(failed, bash("pytest -q", "==== 4 passed in 0.1s ====", call_id="b")) == {"pytest -q": "passed"}
    assert outcomes(failed, bash("pytest -q > log", "", call_id="b")) == {"pytest -q": "unknown"}
    assert outcomes(failed, bash("ls", "a", call_id="b")) == {"pytest -q": "failed"}


def test_commands_that_failed_together_and_passed_each_alone_have_not_failed() -> None:
    both = bash("make lint && make docs", "make: *** [docs] Error 1", is_error=True, call_id="a")
    alone = (*bash("make lint", "exit code: 0", call_id="b"), *bash("make docs", "exit code: 0", call_id="c"))
    assert outcomes((*both, *alone), ()) == {"make lint": "passed", "make docs": "passed"}


def outcomes(archived: tuple[Message, ...], tail: tuple[Message, ...]) -> dict[str, str]:
    request = SummaryRequest(messages=archived, indices=places(archived), max_tokens=2_000, tail=tail)
    return {command.command: command.outcome.value for command in compose(request, LengthCounter()).ledger.commands}


RUNS = ArtifactLedger(
    commands=(
        CommandArtifact(command="make test", outcome=Outcome.PASSED, is_test=True, detail="9 passed", last_index=5),
        CommandArtifact(command="make lint", outcome=Outcome.FAILED, detail="2 errors", last_index=6),
        CommandArtifact(command="make docs", outcome=Outcome.UNKNOWN, last_index=7),
    )
)


def files(archived: tuple[Message, ...], tail: tuple[Message, ...], max_tokens: int = 2000) -> list[FileArtifact]:
    request = SummaryRequest(messages=archived, indices=places(archived), tail=tail, max_tokens=max_tokens)
    return list(compose(request, LengthCounter()).ledger.files)


def test_a_file_that_only_the_messages_that_stay_changed_is_listed_after_the_others_and_not_counted() -> None:
    tail = (*call("Write", {"file_path": "new.py"}, "ok", call_id="n"), *call("Read", {"file_path": "seen.py"}, "x"))
    archived = (*call("Edit", {"file_path": "a.py"}, "ok", call_id="e"), *call("Read", {"file_path": "b.py"}, "x"))
    assert [(file.path, file.action, file.times) for file in files(archived, tail)] == [
        ("a.py", FileAction.MODIFIED, 1),
        ("new.py", FileAction.CREATED, 0),
        ("b.py", FileAction.READ, 1),
    ]


def test_what_the_messages_that_stay_did_to_a_file_is_what_was_done_to_it() -> None:
    removed = files(call("Write", {"file_path": "a.py"}, "ok"), bash("rm a.py"))
    changed = files(call("Read", {"file_path": "a.py"}, "x"), call("Edit", {"file_path": "a.py"}, "ok", call_id="e"))
    assert [(file.action, file.times) for file in (*removed, *changed)] == [
        (FileAction.DELETED, 1),
        (FileAction.MODIFIED, 1),
    ]


def test_a_command_is_not_listed_again_where_the_summary_says_how_it_ended() -> None:
    shown = render_ledger(RUNS, "## State of work\n- #6 Last test run: `make test` passed: 9 passed")
    assert shown == "## Commands\n- `make lint` failed: 2 errors\n- `make docs`"


def test_a_command_stays_listed_where_the_summary_tells_another_end_or_none() -> None:
    shown = render_ledger(RUNS, "`make test` failed once. Then `make lint` and `make docs`.")
    assert shown == render_ledger(RUNS)


def test_a_summary_and_its_ledger_say_a_commands_end_once() -> None:
    messages = (user("Make it pass."), *bash("pytest tests/test_a.py", "==== 3 passed in 0.12s ===="))
    request = SummaryRequest(messages=messages, indices=places(messages), max_tokens=2_000)
    composed = compose(request, LengthCounter())
    shown = composed.summary + render_ledger(composed.ledger, composed.summary)
    assert shown.count("`pytest tests/test_a.py` passed") == 1
    assert [item.command for item in composed.ledger.commands] == ["pytest tests/test_a.py"]
