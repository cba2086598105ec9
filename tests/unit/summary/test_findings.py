"""Findings, errors and details: which are taken from a conversation, and which are worth more."""

from support.conversations import agent, bash, call, places, user
from ullage.model.message import Message
from ullage.summary.choosing.findings import details_of, errors_of, findings_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.reader import Reader

TEST, FAILED, PASSED = "pytest tests/test_a.py", "==== 1 failed in 0.1s ====", "==== 1 passed in 0.1s ===="


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def run(command: str, output: str, number: int) -> tuple[Message, ...]:
    return bash(command, output, is_error=output == FAILED, call_id=f"c{number}")


def errors(*messages: Message) -> list[Item]:
    return list(errors_of(digest(*messages)))


def by_text(items: list[Item], part: str) -> Item:
    return next(item for item in items if part in item.text)


def test_what_the_agent_said_is_a_finding_and_what_it_saw_is_a_detail() -> None:
    found = digest(agent("The cause is `stale_cache`."), *bash("cat notes.txt", "spool_guard holds the lock"))
    assert [item.section for item in findings_of(found)] == [Section.FINDINGS]
    assert [(item.section, item.group) for item in details_of(found)] == [(Section.DETAILS, "$ cat notes.txt")]


def test_of_two_equal_sentences_the_newer_one_stays() -> None:
    found = digest(agent("The cause is `stale_cache`."), agent("Anything."), agent("The cause is `stale_cache`."))
    assert [item.index for item in findings_of(found) if "stale_cache" in item.text] == [2]


def test_a_conclusion_is_worth_more_than_its_names_and_an_announcement_or_code_is_not() -> None:
    said = agent("Let me fix `load_config` now.\nThe cause is `stale_cache`.\nIt is warm.\nresult.value = fixed(1)")
    items = list(findings_of(digest(said)))
    assert by_text(items, "cause").value > by_text(items, "warm").value > 0
    assert by_text(items, "Let me").value == by_text(items, "result").value == 0


def test_details_cannot_close_the_frame_they_stand_in() -> None:
    assert all(
        "```" not in item.text for item in details_of(digest(*bash("cat a.md", "```python\nload_config()\n```")))
    )


def test_an_error_names_what_was_changed_until_the_command_passed() -> None:
    (error,) = errors(
        *run(TEST, FAILED, 1),
        *call("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, call_id="e"),
        *run(TEST, PASSED, 2),
    )
    assert error.section is Section.ERRORS
    assert "1 failed" in error.text
    assert error.text.endswith("passed in #4 after changes to src/a.py")


def test_a_test_that_never_passed_again_is_open_and_another_command_is_not() -> None:
    items = errors(*run(TEST, FAILED, 1), *bash("make docs", "make: fatal error", is_error=True, call_id="m"))
    assert by_text(items, TEST).section is Section.OPEN
    assert by_text(items, "make docs").section is Section.ERRORS


def test_the_same_failure_twice_is_reported_once() -> None:
    assert [error.index for error in errors(*run(TEST, FAILED, 1), *run(TEST, FAILED, 2))] == [2]


def test_without_failures_there_are_no_errors() -> None:
    assert errors(user("Go on."), *run(TEST, PASSED, 1)) == []
