"""The state of the work: the newest plan, the last test run and commit, the files changed last, the next step."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, call, places
from ullage.model.message import Message
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.plans import plan_entries
from ullage.summary.choosing.work_state import RECENT_FILES, next_of, plan_of, recent_of, standing, state_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader

PASSED, FAILED = "==== 3 passed in 0.2s ====", "==== 1 failed in 0.2s ===="


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def todos(key: str, entry: str, *, call_id: str = "t", status: str = "pending") -> tuple[Message, ...]:
    return call("TodoWrite", {key: [{entry: "Write the parser", "status": status}]}, "ok", call_id=call_id)


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items]


@pytest.mark.parametrize(("key", "entry"), [("todos", "content"), ("plan", "step"), ("items", "text")])
def test_a_plan_is_read_from_every_agents_list(key: str, entry: str) -> None:
    assert texts(plan_of(plan_entries(digest(*todos(key, entry))))) == ["open: Write the parser"]


def test_the_newest_plan_stands_alone() -> None:
    newer = todos("todos", "content", call_id="u", status="completed")
    assert texts(plan_of(plan_entries(digest(*todos("todos", "content"), *newer)))) == ["done: Write the parser"]


def test_a_checklist_is_the_plan_of_an_agent_without_tasks() -> None:
    said = agent("- [x] Write the parser\n- [ ] Wire it up")
    assert texts(plan_of(plan_entries(digest(said)))) == [
        "done: Write the parser",
        "open: Wire it up",
    ]


def test_a_single_box_is_no_checklist() -> None:
    assert plan_of(plan_entries(digest(agent("Use `[x]` like this: [x] done")))) == []


def test_the_state_is_the_last_test_run_and_the_commits() -> None:
    found = digest(
        *bash("pytest -q", FAILED, is_error=True, call_id="a"),
        *bash("pytest -q", PASSED, call_id="b"),
        *bash("git commit -m one", "[main 1a2b3c4] one", call_id="c"),
        *bash("git commit -m two", "[main 2b3c4d5] two", call_id="d"),
    )
    assert texts(list(state_of(found))) == [
        "Last commit on branch main: 2b3c4d5 two",
        "Earlier commits: 1a2b3c4 one",
        "Last test run: `pytest -q` passed: 3 passed in 0.2s",
    ]


def test_files_changed_last_come_first_each_once_with_the_lines_written_last() -> None:
    def edit(path: str, text: str, call_id: str) -> tuple[Message, ...]:
        return call("Edit", {"file_path": path, "old_string": "x", "new_string": text}, call_id=call_id)

    found = digest(*edit("a.py", "first = 1", "1"), *edit("b.py", "second = 2", "2"), *edit("a.py", "third = 3", "3"))
    assert texts(list(recent_of(found))) == ["a.py: `third = 3`", "b.py: `second = 2`"]


def test_a_file_that_is_listed_elsewhere_is_named_from_the_folder_of_all_changed_files() -> None:
    paths = ("/home/u/spool/src/a.py", "/home/u/spool/tests/b.py")
    written = [
        message
        for path in paths
        for message in call("Write", {"file_path": path, "content": "total = 1"}, call_id=path)
    ]
    assert texts(list(recent_of(digest(*written), frozenset(paths[:1])))) == [
        "/home/u/spool/tests/b.py: `total = 1`",
        "src/a.py: `total = 1`",
    ]


def test_many_lines_written_last_are_a_block_of_code_after_the_imports() -> None:
    text = "import os\n\ndef run() -> None:\n    " + "\n    ".join(f"step({number})" for number in range(9))
    found = digest(*call("Write", {"file_path": "a.py", "content": text}))
    assert texts(list(recent_of(found))) == [
        "a.py:\n```\ndef run() -> None:\n    step(0)\n    step(1)\n    step(2)\n    step(3)\n```"
    ]


def test_of_a_file_into_which_only_imports_were_written_the_path_is_enough() -> None:
    found = digest(*call("Write", {"file_path": "a.py", "content": "import os\nimport re\n" * 4}))
    assert texts(list(recent_of(found))) == ["a.py"]


def test_so_many_files_are_named_and_no_more() -> None:
    written = [
        message
        for number in range(RECENT_FILES + 3)
        for message in call("Write", {"file_path": f"f{number}.py", "content": "x = 1"}, call_id=str(number))
    ]
    assert len(list(recent_of(digest(*written)))) == RECENT_FILES


def test_a_file_that_was_deleted_is_not_among_the_changed_ones_unless_it_was_written_again() -> None:
    written = call("Write", {"file_path": "a.py", "content": "total = 1"})
    assert list(recent_of(digest(*written, *bash("rm a.py", call_id="2")))) == []
    again = call("Write", {"file_path": "a.py", "content": "total = 2"}, call_id="3")
    assert texts(list(recent_of(digest(*written, *bash("rm a.py", call_id="2"), *again)))) == ["a.py: `total = 2`"]


def test_of_a_command_that_changed_files_each_has_what_was_put_into_it() -> None:
    script = "cat <<'EOF' > fix.py\nimport re\ntotal = 1\nEOF\npython fix.py"
    command = f"{script} && sed -i 's/a/b/' src/a.py && ls > x.tmp && mv x.tmp x.txt"
    assert texts(list(recent_of(digest(*bash(command))))) == [
        "x.txt: `mv x.tmp x.txt`",
        "src/a.py: `sed -i 's/a/b/' src/a.py`",
        "fix.py: `total = 1`",
    ]


def test_a_file_that_was_only_read_was_not_changed() -> None:
    assert list(recent_of(digest(*call("Read", {"file_path": "a.py"}, "x = 1")))) == []


def test_the_next_step_is_what_the_agent_said_in_its_last_message() -> None:
    found = digest(agent("First the parser."), agent("Next I will wire `load_config`."), *bash("ls", "a.py"))
    assert texts(list(next_of(found, plan_entries(found)))) == ["Next I will wire `load_config`."]


def test_the_state_names_what_changed_after_the_last_commit_and_test_run() -> None:
    found = digest(
        *bash("pytest -q", PASSED, call_id="a"),
        *bash("git commit -m one", "[main 1a2b3c4] one", call_id="b"),
        *call("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, call_id="e"),
    )
    state = texts(list(state_of(found)))
    assert "Changed after that commit: src/a.py" in state
    assert "Changed after that test run: src/a.py" in state


def test_the_state_has_the_last_run_of_each_check() -> None:
    found = digest(
        *bash("npm run lint | tail -3", "✖ 2 problems (2 errors, 0 warnings)", is_error=True, call_id="a"),
        *bash("npm run lint", "done", call_id="b"),
    )
    assert texts(list(state_of(found))) == ["Last run of `npm run lint` passed"]


def test_a_check_that_failed_before_files_were_changed_says_how_many() -> None:
    failed = bash("npm run lint", "✖ 2 problems (2 errors, 0 warnings)", is_error=True, call_id="a")
    edits = [call("Edit", {"file_path": path, "old_string": "x"}, "ok", call_id=path) for path in ("a.ts", "b.ts")]
    said = "Last run of `npm run lint` failed: ✖ 2 problems (2 errors, 0 warnings)"
    assert said in texts(list(state_of(digest(*failed))))
    assert f"{said}; 1 file changed since" in texts(list(state_of(digest(*failed, *edits[0]))))
    assert f"{said}; 2 files changed since" in texts(list(state_of(digest(*failed, *edits[0], *edits[1]))))


def test_the_state_names_the_last_call_unless_the_context_shows_a_later_one() -> None:
    found = digest(*bash("npm run lint", "done", call_id="a"), *call("Read", {"file_path": "/app/a.ts"}, call_id="b"))
    assert texts(list(state_of(found)))[-1] == "Last call: Read of /app/a.ts"
    after = digest(*bash("git status", "clean", call_id="c"))
    assert "Last call" not in " ".join(texts(list(state_of(replace(found, after=after)))))


def test_a_command_that_has_just_failed_is_next() -> None:
    found = digest(*bash("git merge main", "Automatic merge failed; fix conflicts", is_error=True, call_id="a"))
    assert texts(list(next_of(found, plan_entries(found)))) == [
        "`git merge main` has failed: Automatic merge failed; fix conflicts"
    ]
    mended = digest(
        *bash("git merge main", "Automatic merge failed; fix conflicts", is_error=True, call_id="a"),
        *bash("git merge main", "Merge made by the 'ort' strategy.", call_id="b"),
    )
    assert texts(list(next_of(mended, plan_entries(mended)))) == []


def test_a_failed_check_is_not_told_if_it_ran_again_in_front_of_a_test_run() -> None:
    found = digest(
        *bash("npx tsc --noEmit", "Found 4 errors in 4 files.", is_error=True, call_id="a"),
        *bash("npx tsc --noEmit && npm test", "ℹ pass 4\nℹ fail 0", call_id="b"),
    )
    assert not [text for text in texts(list(state_of(found))) if text.startswith("Last run of")]


def test_a_failed_check_is_not_told_if_it_ran_again_with_other_options() -> None:
    failed = bash("pdflatex paper.tex", "! Undefined control sequence.", is_error=True, call_id="1")
    again = bash("pdflatex -interaction=nonstopmode paper.tex || echo failed", "Output written.", call_id="2")
    other = bash("pdflatex -interaction=nonstopmode notes.tex || echo failed", "Output written.", call_id="2")
    assert not any("paper.tex` failed" in text for text in texts(list(state_of(digest(*failed, *again)))))
    assert any("paper.tex` failed" in text for text in texts(list(state_of(digest(*failed, *other)))))


def test_the_last_test_run_and_commit_of_an_earlier_summary_stand_until_there_are_newer_ones() -> None:
    told = [
        Item(section=Section.STATE, text=text, index=3)
        for text in ("Last test run: `pytest -q` passed", "Last commit: 1a2b3c4 one", "Last call: `ls`")
    ]
    edit = call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "total = 1"}, call_id="e")
    since = digest(*edit)
    assert texts(list(standing(told, list(state_of(since)), since))) == [
        "Last test run: `pytest -q` passed",
        "Changed after that test run: a.py",
        "Last commit: 1a2b3c4 one",
        "Changed after that commit: a.py",
    ]
    tested = bash("pytest -q", PASSED, call_id="a")
    newer = digest(*tested, *bash("git commit -m two", "[main 2b3c4d5] two", call_id="d"))
    assert list(standing(told, list(state_of(newer)), newer)) == []
    undone = digest(*tested, *bash("git reset --hard HEAD~1", "HEAD is now at 0a1b2c3 none", call_id="d"))
    assert list(standing(told, list(state_of(undone)), undone)) == []


def test_the_state_has_sub_agents_issues_and_what_still_runs() -> None:
    found = digest(
        *bash("bd close app-1.2", "closed", call_id="i"),
        *call("Task", {"description": "Review it"}, "The lock is never released by the writer.", call_id="a"),
        *call(
            "Bash", {"command": "npm run dev", "run_in_background": True}, "Command running in background with ID: b9"
        ),
    )
    assert texts(list(state_of(found))) == [
        "Issues closed: app-1.2",
        "Still running, command (b9): npm run dev",
        "Sub-agent completed: Review it; it said: The lock is never released by the writer.",
    ]


def test_an_answer_of_a_sub_agent_has_no_headings_and_its_entries_are_parted() -> None:
    answer = (
        "I now have all the information.\n\n# The versions of the package\n\n- The reader must be at 2.1 or later"
        "\n- The writer fails because 2.0 has no lock"
    )
    found = digest(*call("Task", {"description": "Check the versions", "prompt": "x"}, answer))
    assert texts(list(state_of(found)))[0].endswith(
        "it said: The reader must be at 2.1 or later; The writer fails because 2.0 has no lock"
    )


def test_several_sub_agents_are_listed_with_the_ids_for_their_output() -> None:
    def launched(name: str, what: str) -> tuple[Message, Message]:
        said = f"Async agent launched successfully.\nagentId: {name} (internal ID)"
        return call("Task", {"description": what, "run_in_background": True}, said, call_id=name)

    def output(name: str, said: str) -> tuple[Message, Message]:
        result = f"<task_id>{name}</task_id>\n<status>completed</status>\n<output>\n{said}\n</output>"
        return call("TaskOutput", {"task_id": name}, result, call_id=f"output-{name}")

    found = digest(
        *launched("a1b2c3", "Review the locks"),
        *launched("d4e5f6", "Review the names"),
        *output("a1b2c3", "The lock is never released by the writer."),
        *output("d4e5f6", "Two names mean the same thing in the store."),
    )
    assert texts(list(state_of(found)))[:3] == [
        "Sub-agent tasks completed: a1b2c3 Review the locks; d4e5f6 Review the names",
        "Sub-agent on Review the locks: The lock is never released by the writer.",
        "Sub-agent on Review the names: Two names mean the same thing in the store.",
    ]


def edit(path: str, said: str, *, is_error: bool, call_id: str) -> tuple[Message, Message]:
    change = {"file_path": path, "old_string": "a", "new_string": "b"}
    return call("Edit", change, said, is_error=is_error, call_id=call_id)


def test_the_state_names_a_file_that_could_not_be_changed() -> None:
    lost = "Error: `a` was not found.\nRead the file."
    first = edit("/app/run.py", lost, is_error=True, call_id="a")
    second = edit("/app/run.py", lost, is_error=True, call_id="b")
    told = [text for text in texts(list(state_of(digest(*first, *second)))) if "/app/run.py failed" in text]
    assert told == ["2 changes of /app/run.py failed since #1, and none has worked: Error: 'a' was not found."]


def test_a_file_whose_change_worked_at_last_or_failed_once_is_not_called_unchanged() -> None:
    lost = edit("/app/run.py", "not found", is_error=True, call_id="a")
    again = edit("/app/run.py", "not found", is_error=True, call_id="b")
    worked = edit("/app/run.py", "ok", is_error=False, call_id="c")
    for found in (digest(*lost, *again, *worked), digest(*worked, *lost)):
        assert "failed since" not in " ".join(texts(list(state_of(found))))
    after = replace(digest(*lost, *again), after=digest(*worked))
    assert "failed since" not in " ".join(texts(list(state_of(after))))


def test_changes_that_the_user_refused_did_not_fail() -> None:
    said = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    refused = [edit("/app/run.py", said, is_error=True, call_id=name) for name in ("a", "b")]
    assert "failed since" not in " ".join(texts(list(state_of(digest(*refused[0], *refused[1])))))
