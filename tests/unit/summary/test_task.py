"""The user's requests: the task, standing instructions, constraints, later requests."""

from support.conversations import agent, call, places, user
from ullage.agents.calls import tool_calls
from ullage.model.message import Message
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.task import constraints_of, instructions_of, requests_of, task_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.reader import Reader

LONG = "Port the spool to Rust. " + "It has many parts and each of them matters. " * 8


def digest(*messages: Message, kept: tuple[str, ...] = ()) -> Digest:
    return read_messages(messages, places(messages), Reader(), kept)


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items]


def instructions(*messages: Message, kept: frozenset[str] = frozenset()) -> list[str]:
    calls = tool_calls(messages, places(messages))
    return texts(list(instructions_of(messages, places(messages), kept, calls)))


def test_the_first_request_is_the_task_and_later_ones_are_requests() -> None:
    found = digest(user("Port the spool."), agent("Done."), user("Now the tests."))
    assert texts(list(task_of(found))) == ["Port the spool."]
    assert texts(list(requests_of(found))) == ["Now the tests."]


def test_without_a_request_there_is_no_task() -> None:
    assert list(task_of(digest(agent("Hello.")))) == []


def test_a_task_that_stays_in_the_context_is_named_by_its_first_sentence_alone() -> None:
    first = user("Task:\nPort the spool to Rust.\nMind the locks.")
    (task,) = task_of(digest(first, kept=(first.id,)))
    assert task.text == "Port the spool to Rust. (the message stays in the context)"


def test_a_request_that_stays_in_the_context_is_not_repeated() -> None:
    later = user("Now the tests.")
    assert list(requests_of(digest(user("Port the spool."), agent("Done."), later, kept=(later.id,)))) == []


def test_what_a_long_request_forbids_is_a_constraint_and_worth_more_than_what_it_limits() -> None:
    found = digest(user(f"{LONG} Never touch config/legacy.ini here. Use at most two threads for it. It is nice."))
    items = list(constraints_of(found))
    assert [item.section for item in items] == [Section.CONSTRAINTS] * len(items)
    never = next(item for item in items if "Never touch" in item.text)
    limit = next(item for item in items if "at most two" in item.text)
    assert never.value >= limit.value
    assert not any(text.endswith("It is nice.") and "Never" not in text and "most" not in text for text in texts(items))


def test_a_short_request_gives_no_separate_constraint() -> None:
    assert list(constraints_of(digest(user("Never touch config/legacy.ini.")))) == []


def test_instructions_come_from_what_was_inserted_and_from_files_read_last() -> None:
    inserted = user("<user_instructions>\nAlways run the linter before a commit.\n</user_instructions>")
    old = call("Read", {"file_path": "AGENTS.md"}, "Commit to the branch called old.", call_id="a")
    new = call("Read", {"file_path": "AGENTS.md"}, "Commit to the branch called new.", call_id="b")
    found = instructions(inserted, *old, *new)
    assert found == ["Always run the linter before a commit.", "Commit to the branch called new."]


def test_instructions_in_a_message_that_stays_are_not_repeated() -> None:
    inserted = user("<user_instructions>\nAlways run the linter before a commit.\n</user_instructions>")
    assert instructions(inserted, kept=frozenset({inserted.id})) == []


def test_a_file_that_could_not_be_read_gives_no_instructions() -> None:
    failed = call("Read", {"file_path": "AGENTS.md"}, "No such file or directory: AGENTS.md", is_error=True)
    assert instructions(*failed) == []
