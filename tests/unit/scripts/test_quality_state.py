"""Which statements about the state of work the quality bench finds false."""

import pytest

from benches.quality_actions import Kind, command_key, read_actions
from benches.quality_page import read_page
from benches.quality_state import Claim, judge_page
from support.conversations import agent, bash, call, user
from ullage.model.message import Message


def judged(page: str, *messages: Message) -> list[tuple[Claim, bool | None]]:
    return [(verdict.claim, verdict.false) for verdict in judge_page(read_page(page), messages, read_actions(messages))]


FAILED = bash("cd app && pytest -q 2>&1 | tail -20", "FAILED test_a\n1 failed, 3 passed", call_id="a")
EDIT = call("Edit", {"file_path": "app/a.py", "old_string": "x", "new_string": "y"}, "ok", call_id="b")
PASSED = bash("pytest -q", "4 passed", call_id="c")
CLAIM = "## Errors and fixes\n- #2 `pytest -q 2>&1 | tail -20` failed: 1 failed, 3 passed"


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "cd app && pytest -q", "pytest -q 2>&1 | tail -20", "CI=1 timeout 60 pytest -q | grep x | head -3"],
)
def test_commands_are_the_same_if_they_run_the_same(command: str) -> None:
    assert command_key(command) == "pytest -q"


def test_other_commands_differ() -> None:
    assert command_key("pytest -q tests/unit") != command_key("pytest -q")
    assert command_key("cat a | python run.py") == "cat a | python run.py"


def test_a_pipe_hides_how_a_command_ended_unless_its_output_tells() -> None:
    ends = [
        bash("make | tail", "x", call_id="a"),
        bash("make | tail", "1 failed", call_id="b"),
        bash("make", call_id="c"),
    ]
    actions = read_actions([message for end in ends for message in end])
    assert [action.passed for action in actions] == [None, False, True]
    assert read_actions(bash("grep -r FAILED log", "FAILED: 1 failed"))[0].passed is True
    assert read_actions(bash("make", "Exit code 2"))[0].passed is False
    assert read_actions(bash("make", is_error=True))[0].passed is False


def test_calls_are_told_apart() -> None:
    shell = call("shell", {"command": ["bash", "-lc", "ls"]}, call_id="a")
    view = call("editor", {"command": "view", "path": "a.py"}, call_id="b")
    edit = call("editor", {"command": "str_replace", "path": "a.py", "old_str": "x"}, call_id="c")
    plan = call("update_plan", {"plan": [{"step": "x", "status": "pending"}]}, call_id="d")
    actions = read_actions([*shell, *view, *edit, *plan])
    assert [(action.kind, action.target) for action in actions] == [
        (Kind.RUN, "ls"),
        (Kind.LOOK, "a.py"),
        (Kind.CHANGE, "a.py"),
        (Kind.PLAN, "update_plan"),
    ]


def test_a_failure_that_still_stands_is_true() -> None:
    assert judged(CLAIM, *FAILED) == [(Claim.FAILED, False)]
    assert judged(CLAIM, *PASSED, *FAILED) == [(Claim.FAILED, False)]


def test_a_failure_that_passed_later_under_another_pipe_is_false() -> None:
    assert judged(CLAIM, *FAILED, *EDIT, *PASSED) == [(Claim.FAILED, True)]


def test_a_failure_told_with_its_mending_is_no_claim() -> None:
    assert judged(f"{CLAIM}; passed in #6 after changes to a.py", *FAILED, *EDIT, *PASSED) == []
    assert judged(f"{CLAIM}\n  - Fix: the rows are closed", *FAILED, *EDIT, *PASSED) == []


def test_a_failure_told_with_a_later_run_of_unknown_outcome_cannot_be_judged() -> None:
    again = f"{CLAIM}; ran again in #6, its outcome is not shown"
    assert judged(again, *FAILED, *PASSED) == [(Claim.FAILED, None)]


def test_a_command_that_was_never_run_cannot_be_judged() -> None:
    assert judged("- `tox -e lint` failed", *FAILED) == [(Claim.FAILED, None)]


def test_a_clipped_command_is_known_by_its_beginning_and_a_commit_by_its_message() -> None:
    long = bash("make one two three && make four", "done", call_id="d")
    assert judged("- `make one two […] four` failed", *long) == [(Claim.FAILED, True)]
    commit = bash('git add -A && git commit -m "Fix rows"', "done", call_id="d")
    assert judged("- `git commit: Fix rows` failed: hook", *commit) == [(Claim.FAILED, True)]


SAID = agent("Now let me add the field to `load_rows`:")


def test_an_announced_step_that_a_call_did_is_false_and_one_that_none_did_is_true() -> None:
    page = "## Next step\n- #1 Now let me add the field to `load_rows`:"
    edit = call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "def load_rows"}, "ok")
    assert judged(page, SAID, *edit) == [(Claim.NEXT, True)]
    assert judged(page, SAID, *bash("ls")) == [(Claim.NEXT, False)]
    assert judged(page, *edit, SAID) == [(Claim.NEXT, False)]


def test_a_run_that_passed_since_the_last_change_is_not_next() -> None:
    page = "## Next step\n- Run the tests"
    assert judged(page, *EDIT, *PASSED) == [(Claim.NEXT, True)]
    assert judged(page, *PASSED, *EDIT) == [(Claim.NEXT, False)]
    assert judged(page, *EDIT) == [(Claim.NEXT, False)]
    assert judged(page, *EDIT, *FAILED) == [(Claim.NEXT, False)]


def test_what_names_no_step_cannot_be_judged() -> None:
    assert judged("## Next step\n- The sky over test.py", *PASSED) == [(Claim.NEXT, None)]
    assert judged("## Next step\n- Fix the reader", user("Go on"), *PASSED) == [(Claim.NEXT, None)]


def todos(status: str, number: str) -> tuple[Message, Message]:
    given = {"todos": [{"content": "Close the rows", "status": status}, {"content": "Write docs", "status": "pending"}]}
    return call("TodoWrite", given, "ok", call_id=number)


def test_an_open_entry_is_judged_by_the_newest_list() -> None:
    page = "## Plan\n- #4 open: Close the rows\n- #4 done: Read it\n- [ ] Write docs"
    assert judged(page, *todos("pending", "a")) == [(Claim.OPEN, False), (Claim.OPEN, False)]
    assert judged(page, *todos("pending", "a"), *todos("completed", "b")) == [(Claim.OPEN, True), (Claim.OPEN, False)]


def test_a_list_of_single_tasks_is_read() -> None:
    made = call("TaskCreate", {"subject": "Close the rows", "description": "all"}, call_id="a")
    done = call("TaskUpdate", {"taskId": "1", "status": "completed"}, call_id="b")
    page = "7. Pending Tasks:\n   - Close the rows"
    assert judged(page, *made) == [(Claim.OPEN, False)]
    assert judged(page, *made, *done) == [(Claim.OPEN, True)]
