"""The state of the work: the newest plan, the last test run and commit, the files changed last, the next step."""

import pytest

from support.conversations import agent, bash, call, places
from ullage.model.message import Message
from ullage.summary.choosing.items import Item
from ullage.summary.choosing.work import RECENT_FILES, next_of, plan_of, recent_of, state_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.reader import Reader

PASSED, FAILED = "==== 3 passed in 0.2s ====", "==== 1 failed in 0.2s ===="


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def todos(key: str, entry: str, *, call_id: str = "t", status: str = "pending") -> tuple[Message, ...]:
    return call("TodoWrite", {key: [{entry: "Write the parser", "status": status}]}, "ok", call_id=call_id)


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items]


@pytest.mark.parametrize(("key", "entry"), [("todos", "content"), ("plan", "step"), ("items", "text")])
def test_a_plan_is_read_from_every_agents_list(key: str, entry: str) -> None:
    assert texts(plan_of(digest(*todos(key, entry)))) == ["open: Write the parser"]


def test_the_newest_plan_stands_alone() -> None:
    newer = todos("todos", "content", call_id="u", status="completed")
    assert texts(plan_of(digest(*todos("todos", "content"), *newer))) == ["done: Write the parser"]


def test_a_checklist_that_was_said_after_the_list_is_the_plan() -> None:
    said = agent("- [x] Write the parser\n- [ ] Wire it up")
    assert texts(plan_of(digest(*todos("todos", "content"), said))) == ["done: Write the parser", "open: Wire it up"]


def test_a_single_box_is_no_checklist() -> None:
    assert plan_of(digest(agent("Use `[x]` like this: [x] done"))) == []


def test_only_the_last_test_run_and_the_last_commit_are_the_state() -> None:
    found = digest(
        *bash("pytest -q", FAILED, is_error=True, call_id="a"),
        *bash("pytest -q", PASSED, call_id="b"),
        *bash("git commit -m one", "[main 1] one", call_id="c"),
        *bash("git commit -m two", "[main 2] two", call_id="d"),
    )
    tests, commit = state_of(found)
    assert tests.text.startswith("Last test run: `pytest -q` passed")
    assert commit.text.startswith("Last commit: `git commit -m two`")


def test_files_changed_last_come_first_each_once_with_the_lines_written_last() -> None:
    def edit(path: str, text: str, call_id: str) -> tuple[Message, ...]:
        return call("Edit", {"file_path": path, "old_string": "x", "new_string": text}, call_id=call_id)

    found = digest(*edit("a.py", "first = 1", "1"), *edit("b.py", "second = 2", "2"), *edit("a.py", "third = 3", "3"))
    assert texts(list(recent_of(found))) == ["a.py: `third = 3`", "b.py: `second = 2`"]


def test_so_many_files_are_named_and_no_more() -> None:
    written = [
        message
        for number in range(RECENT_FILES + 3)
        for message in call("Write", {"file_path": f"f{number}.py", "content": "x = 1"}, call_id=str(number))
    ]
    assert len(list(recent_of(digest(*written)))) == RECENT_FILES


def test_a_file_that_was_only_read_was_not_changed() -> None:
    assert list(recent_of(digest(*call("Read", {"file_path": "a.py"}, "x = 1")))) == []


def test_the_next_step_is_what_the_agent_said_in_its_last_message() -> None:
    found = digest(agent("First the parser."), agent("Next I will wire `load_config`."), *bash("ls", "a.py"))
    assert texts(list(next_of(found))) == ["Next I will wire `load_config`."]
