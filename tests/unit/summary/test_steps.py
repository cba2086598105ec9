"""The next step: what the agent said that it would do and has not done."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, call, places, user
from support.counting import LengthCounter
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.plans import plan_entries
from ullage.summary.choosing.work_state import next_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest

EDIT = {"file_path": "src/a.py", "old_string": "x", "new_string": "retries = 3"}


def digest(*messages: Message, after: tuple[Message, ...] = ()) -> Digest:
    numbers = range(len(messages), len(messages) + len(after))
    found = read_messages(messages, places(messages), Reader())
    return replace(found, after=read_messages(after, numbers, Reader())) if after else found


def steps(*messages: Message, after: tuple[Message, ...] = ()) -> list[str]:
    found = digest(*messages, after=after)
    return [item.text for item in next_of(found, plan_entries(found))]


def test_a_promised_change_that_was_made_is_not_next() -> None:
    assert steps(agent("Now let me add `retries` to `src/a.py`:"), *call("Edit", EDIT)) == []


def test_a_promised_change_of_another_file_is_still_next() -> None:
    said = agent("Now let me add `retries` to `src/b.py`:")
    assert steps(said, *call("Edit", EDIT)) == ["Now let me add `retries` to `src/b.py`"]


def test_a_change_in_the_messages_that_stay_counts_as_well() -> None:
    assert steps(agent("Now let me add `retries` to `src/a.py`:"), after=call("Edit", EDIT)) == []


def test_a_failed_edit_has_not_changed_anything() -> None:
    said = agent("Now let me add `retries` to `src/a.py`:")
    assert len(steps(said, *call("Edit", EDIT, "not found", is_error=True))) == 1


@pytest.mark.parametrize(
    ("said", "command", "done"),
    [
        ("Now let me run the tests.", "pytest -q", True),
        ("Now let me run the tests.", "ls", False),
        ("Let me commit these changes.", "git commit -m one", True),
        ("Let me commit these changes.", "git status", False),
        ("Let me look at the config file first.", "cat config.toml", True),
        ("Let me verify the git status once more.", "git status", True),
        ("Let me create a branch off origin/main.", "git checkout -b fix origin/main", True),
        ("Let me create a branch off origin/main.", "git fetch origin main", False),
        ("Now let me open the pull request. I'll create the PR as a draft.", "gh pr create --draft", True),
    ],
)
def test_a_promised_run_is_done_by_such_a_command(said: str, command: str, done: bool) -> None:
    assert (said.rstrip(":") not in steps(agent(said), *bash(command, "1 passed in 0.1s"))) is done


@pytest.mark.parametrize(("command", "left"), [("curl -F a=b http://localhost", 0), ("wget http://localhost", 1)])
def test_a_step_is_done_by_the_program_that_it_names(command: str, left: int) -> None:
    said = agent("Let's test the form of the site using a `curl` command with both fields.")
    assert len(steps(said, *bash(command, "<html>"))) == left


def test_a_call_that_says_that_all_is_done_ends_what_was_promised() -> None:
    said = agent("Let me create a final summary of the changes.")
    assert len(steps(said, *bash("ls", "a.py"))) == 1
    assert steps(said, *bash("ls", "a.py"), *call("task_done", {"message": "Done."}, call_id="d")) == []


def test_what_the_agent_then_found_to_be_there_is_not_next() -> None:
    said = agent("I'll create a new file named `hello.py` that prints a greeting.")
    assert len(steps(said, *bash("ls", "hello.py"), agent("Let me see."))) == 1
    assert steps(said, *bash("ls", "hello.py"), agent("There is already a hello.py in the folder.")) == []


def test_what_the_agent_promised_before_a_new_request_is_dropped() -> None:
    assert steps(agent("Next I will wire `load_config`."), user("Stop. Explain the config first.")) == []


def test_a_question_of_the_agent_waits_for_the_user() -> None:
    assert steps(user("Go."), agent("There are two ways to do it. Shall I use SQLite?")) == [
        "The user has not answered yet: Shall I use SQLite?"
    ]


def test_the_entry_in_hand_is_next_if_nothing_was_promised() -> None:
    todos = [{"content": "Write it", "status": "completed"}, {"content": "Wire it up", "status": "in_progress"}]
    assert steps(*call("TodoWrite", {"todos": todos})) == ["Wire it up"]


def test_a_failing_test_is_next_if_nothing_else_is_known() -> None:
    assert steps(*bash("pytest -q", "==== 1 failed in 0.2s ====", is_error=True)) == [
        "Make `pytest -q` pass: 1 failed in 0.2s"
    ]


def test_changes_after_the_last_test_run_are_tested_next() -> None:
    run = bash("pytest -q", "==== 1 passed in 0.2s ====", call_id="t")
    assert steps(*run, *call("Edit", EDIT)) == [
        "Run `pytest -q` again: 1 file changed since, the last of them src/a.py"
    ]


def test_what_was_promised_earlier_is_not_next_to_a_promise_that_stays_in_the_context() -> None:
    said = agent("Now let me add `retries` to `src/b.py`:")
    look = call("Read", {"file_path": "src/b.py"}, "x")
    assert len(steps(said, after=look)) == 1
    assert steps(said, after=(*look, agent("Now let me rename `load_config` everywhere."))) == []


def test_a_promised_change_may_have_been_made_by_a_script_in_a_command_line() -> None:
    said = agent("Let me fix the retries in src/a.py.")
    script = "python3 -c 'import pathlib; pathlib.Path(name).write_text(text.replace(old, new))'"
    assert steps(said, *bash(script)) == []


def test_a_command_in_the_agents_text_is_known_by_its_output_after_the_archived_messages() -> None:
    said = agent("Now let me run all tests in tests/test_a.py.\n\n```bash\npytest tests/test_a.py\n```")
    shown = user("<returncode>0</returncode>\n<output>\n==== 4 passed in 0.1s ====\n</output>")
    archived = (user("Make it pass."), said)
    request = SummaryRequest(messages=archived, indices=places(archived), max_tokens=2_000, tail=(shown,))
    summary = compose(request, LengthCounter()).summary
    assert "## Next step" not in summary
    assert "Last test run: `pytest tests/test_a.py` passed: 4 passed in 0.1s" in summary
