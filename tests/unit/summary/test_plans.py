"""The plan: which list it is, and what is done, in hand and left."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, call, places, user
from ullage.model.message import Message
from ullage.summary.choosing.plans import plan_entries
from ullage.summary.choosing.work_state import plan_of
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.plan_lists import read_plan
from ullage.summary.reading.text_reader import Reader

PLAN = "Here is my plan:\n\n1. Add `retries` to `src/a.py`\n2. Wire it up in `src/b.py`\n3. Run the tests\n"


def plan(*messages: Message) -> list[str]:
    return [item.text for item in plan_of(plan_entries(read_messages(messages, places(messages), Reader())))]


def edit(path: str) -> tuple[Message, ...]:
    return call("Edit", {"file_path": path, "old_string": "x", "new_string": "retries = 3"}, call_id=path)


def test_a_plan_in_prose_is_ticked_off_by_later_calls() -> None:
    assert plan(user("Go."), agent(PLAN), *edit("src/a.py")) == [
        "done: Add `retries` to `src/a.py`",
        "open: Wire it up in `src/b.py`",
        "open: Run the tests",
    ]


def test_what_comes_before_an_entry_that_was_done_counts_as_done() -> None:
    after = (*edit("src/b.py"), *bash("pytest -q", "==== 1 passed in 0.1s ====", call_id="t"))
    assert [entry.split(":")[0] for entry in plan(user("Go."), agent(PLAN), *after)] == ["done", "done", "done"]


def test_a_plan_in_prose_ends_with_another_request_but_not_with_an_approval() -> None:
    assert plan(user("Go."), agent(PLAN), user("No, explain the cache to me first.")) == []
    assert len(plan(user("Go."), agent(PLAN), user("Yes, go ahead"))) == 3


def test_open_entries_of_a_checklist_are_not_claimed_as_open_after_another_request() -> None:
    renamed = bash("git mv parser.py module_parser.py && rename-all", "ok", call_id="m")
    said = agent("I renamed the parser module everywhere.")
    written = agent("- [ ] Rename the parser module\n- [ ] Sell it")
    assert plan(user("Go."), written, user("Do something about the logs now."), *renamed, said) == [
        "worked on since: Rename the parser module",
        "left open: Sell it",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "What I changed:\n- Added a\n- Removed b\n",
        "The module contains:\n- a parser\n- a reader\n",
        "There are two options:\n1. Use SQLite\n2. Use a file\n",
        "My plan:\n- Add one thing only\n",
    ],
)
def test_other_lists_are_no_plans(text: str) -> None:
    assert read_plan(text) == ()


def test_nested_entries_are_left_out() -> None:
    assert read_plan("Next steps:\n- Add a\n    - to one\n- Fix b\n") == ("Add a", "Fix b")


def test_a_list_in_the_messages_that_stay_is_newer() -> None:
    def todos(status: str) -> tuple[Message, ...]:
        return call("TodoWrite", {"todos": [{"content": "Recompile", "status": status}]}, "ok", call_id=status)

    older, newer = todos("in_progress"), todos("completed")
    found = read_messages(older, places(older), Reader())
    after = read_messages(newer, places(newer, start=len(older)), Reader())
    assert [item.text for item in plan_of(plan_entries(replace(found, after=after)))] == ["done: Recompile"]
