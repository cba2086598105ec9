"""Laws of the ledger: it is the same however often it was asked for, and a page fits its room."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.conversations import Talk
from ullage.ledger.carried import Context
from ullage.ledger.folding import Fold, fold
from ullage.ledger.ledger_page import lacking, standing, write_page
from ullage.model.message import Message

_TEXTS = st.sampled_from(
    [
        "Never push to main.",
        "yes",
        "2",
        "1. One\n2. Two\n\nWhich?",
        "不要修改 migrations",
        "`a.py` has no test yet.",
        "x" * 2_000,
    ]
)
_CALLS: st.SearchStrategy[tuple[str, dict[str, Any], str, bool]] = st.sampled_from(
    [
        ("TaskCreate", {"subject": "Add it"}, "Task #1 created successfully: Add it", False),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status", False),
        ("TodoWrite", {"todos": [{"content": "b", "status": "in_progress"}]}, "ok", False),
        ("Edit", {"file_path": "/p/a.py", "old_string": "x", "new_string": "y"}, "updated", False),
        ("Edit", {"file_path": "/p/a.py", "old_string": "y", "new_string": "x"}, "updated", False),
        ("Edit", {"file_path": "/p/a.py", "old_string": "y", "new_string": "def tax(rate_of): ..."}, "updated", False),
        ("Bash", {"command": "pytest -q"}, "1 failed in 0.1s", True),
        ("Bash", {"command": "pytest -q"}, "3 passed in 0.1s", False),
        ("Bash", {"command": "git commit -am fix"}, "[main 1a2b3c4] fix", False),
        ("Bash", {"command": "git reset --hard HEAD~1"}, "HEAD is now at 0000000", False),
    ]
)
# Whether the next step is the user's, the agent's or a call, with a text and a call for it.
_STEPS = st.lists(st.tuples(st.sampled_from(["user", "agent", "call"]), _TEXTS, _CALLS), max_size=14)


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    talk = Talk()
    for who, text, (name, passed, result, failed) in draw(_STEPS):
        if who == "call":
            talk.call(name, passed, result, failed=failed)
        elif who == "user":
            talk.user(text)
        else:
            talk.agent(text)
    return talk.messages


@given(talks())
@settings(max_examples=60)
def test_asking_for_the_ledger_at_every_message_changes_nothing(messages: list[Message]) -> None:
    asked = Fold("/p")
    for index, message in enumerate(messages):
        asked.take(message, index)
        asked.ledger()
    assert asked.ledger() == fold(messages, "/p")


@given(talks(), st.integers(0, 4_000))
@settings(max_examples=60)
def test_a_page_fits_its_room_and_its_entries_stand(messages: list[Message], room: int) -> None:
    entries = standing(fold(messages, "/p"))
    page = write_page(entries, room, len, cwd="/p")
    assert len(page.text) <= room
    assert set(map(id, page.given)) <= set(map(id, entries))


@given(talks())
@settings(max_examples=60)
def test_a_context_of_all_messages_lacks_nothing_that_was_said(messages: list[Message]) -> None:
    entries = standing(fold(messages, "/p"))
    left = lacking(entries, Context(messages), frozenset(range(len(messages))))
    assert [entry for entry in left if entry.kind in ("said", "words", "task", "file")] == []


@given(talks())
@settings(max_examples=60)
def test_all_that_was_typed_is_on_the_page_of_an_empty_context_if_there_is_room(messages: list[Message]) -> None:
    entries = lacking(standing(fold(messages, "/p")), Context([]), frozenset())
    given_ = [entry for entry in write_page(entries, 1_000_000, len).given if entry.kind == "said"]
    assert {entry.text for entry in given_} == {entry.text for entry in entries if entry.kind == "said"}
