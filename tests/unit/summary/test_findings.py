"""Findings and errors: which are taken from a conversation, and which are worth more."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, call, places, user
from ullage.model.blocks import ThinkingBlock
from ullage.model.message import Message, Role
from ullage.summary.choosing.findings import errors_of, findings_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader

TEST, FAILED, PASSED = "pytest tests/test_a.py", "==== 1 failed in 0.1s ====", "==== 1 passed in 0.1s ===="


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def run(command: str, output: str, number: int) -> tuple[Message, ...]:
    return bash(command, output, is_error=output == FAILED, call_id=f"c{number}")


def errors(*messages: Message) -> list[Item]:
    return list(errors_of(digest(*messages)))


def by_text(items: list[Item], part: str) -> Item:
    return next(item for item in items if part in item.text)


def test_only_what_the_agent_said_is_a_finding() -> None:
    found = digest(agent("The cause is the `stale_cache`."), *bash("cat notes.txt", "spool_guard holds the lock"))
    assert [item.text for item in findings_of(found)] == ["The cause is the `stale_cache`."]


def test_thinking_is_a_source_of_findings_only_if_it_is_signed() -> None:
    said = "The root cause is the missing lock in take_lock."
    signed = Message(id="t", role=Role.ASSISTANT, content=(ThinkingBlock(thinking=said, signature="s"),))
    paraphrase = replace(signed, content=(ThinkingBlock(thinking=said),))
    assert [item.text for item in findings_of(digest(signed))] == [said]
    assert not list(findings_of(digest(paraphrase)))
    assert digest(paraphrase).excerpts[0].anchors == ("take_lock",)


def test_of_two_equal_sentences_the_newer_one_stays() -> None:
    found = digest(
        agent("The cause is the `stale_cache`."), agent("Anything."), agent("The cause is the `stale_cache`.")
    )
    assert [item.index for item in findings_of(found) if "stale_cache" in item.text] == [2]


def test_a_conclusion_is_worth_more_than_its_names_and_an_announcement_or_code_is_left_out() -> None:
    said = agent(
        "Let me fix `load_config` now.\nThe cause is the `stale_cache`.\n`stale_cache` is warm at this time.\n"
        "result.value = fixed(1)"
    )
    items = list(findings_of(digest(said)))
    assert by_text(items, "cause").value > by_text(items, "warm").value > 0
    assert not any("Let me" in item.text or "result" in item.text for item in items)


def test_an_error_names_what_was_changed_until_the_command_passed() -> None:
    (error,) = errors(
        *run(TEST, FAILED, 1),
        *call("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, call_id="e"),
        *run(TEST, PASSED, 2),
    )
    assert error.section is Section.ERRORS
    assert "1 failed" in error.text
    assert error.text.endswith("passed in #5 after changes to src/a.py")


def test_a_test_that_never_passed_again_is_open_and_another_command_is_not() -> None:
    items = errors(*run(TEST, FAILED, 1), *bash("make docs", "make: fatal error", is_error=True, call_id="m"))
    assert by_text(items, TEST).section is Section.OPEN
    assert by_text(items, "make docs").section is Section.ERRORS


def test_the_same_failure_twice_is_reported_once() -> None:
    assert [error.index for error in errors(*run(TEST, FAILED, 1), *run(TEST, FAILED, 2))] == [2]


def test_without_failures_there_are_no_errors() -> None:
    assert errors(user("Go on."), *run(TEST, PASSED, 1)) == []


def test_a_command_that_passed_with_another_filter_is_mended() -> None:
    (error,) = errors(
        *bash("cd app && npm run lint 2>&1 | tail -30", "✖ 2 problems (2 errors, 0 warnings)", call_id="a"),
        *bash("npm run lint | tail -5", "✖ 1 problem (0 errors, 1 warning)", call_id="b"),
    )
    assert error.text == "`npm run lint` failed: ✖ 2 problems (2 errors, 0 warnings); passed in #3"


def test_a_cause_after_several_failures_is_that_of_the_last() -> None:
    (error,) = errors(
        *bash("make docs", "Error: no such page", is_error=True, call_id="1"),
        *bash("make docs", "Error: no such index", is_error=True, call_id="2"),
        agent("The build fails because the index is missing."),
    )
    assert error.text == (
        "`make docs` failed 2 times since #1: Error: no such page; then: Error: no such index; "
        "cause of the last: The build fails because the index is missing"
    )


def test_a_test_that_passed_in_a_wider_run_is_mended() -> None:
    (error,) = errors(*run(TEST, FAILED, 1), *run("pytest", PASSED, 2))
    assert error.section is Section.ERRORS
    assert error.text.endswith("passed in #3")


def test_a_failure_that_passed_in_the_messages_that_stay_is_mended() -> None:
    after = run(TEST, PASSED, 2)
    found = replace(digest(*run(TEST, FAILED, 1)), after=read_messages(after, range(2, 4), Reader()))
    (error,) = errors_of(found)
    assert error.section is Section.ERRORS


def test_what_reports_no_failure_has_passed_where_failures_are_reported() -> None:
    (error,) = errors(*bash("make docs", "make: fatal error", is_error=True, call_id="m"), *bash("make docs", "built"))
    assert error.text.endswith("passed in #3")


def test_a_success_that_a_filter_hides_is_not_claimed() -> None:
    (error,) = errors(
        *bash("make docs", "make: fatal error", is_error=True, call_id="m"), *bash("make docs | tail -1", "built")
    )
    assert error.text.endswith("ran again in #3, its outcome is not shown")


def test_failures_in_a_row_are_one_with_what_each_showed() -> None:
    (error,) = errors(
        *bash("git commit -m one", "error: not formatted", is_error=True, call_id="a"),
        *bash("git commit -m two", "error: line too long", is_error=True, call_id="b"),
        *bash("make format", "ok", call_id="c"),
        *bash("git commit -m two", "[main 1a2b3c4] two", call_id="d"),
    )
    assert error.text == (
        "`git commit -m two` failed 2 times since #1: error: not formatted; then: error: line too long"
        "; passed in #7 after `make format`"
    )


def test_an_error_names_the_cause_that_the_agent_found() -> None:
    (error,) = errors(
        *run(TEST, FAILED, 1),
        agent("Let me look. The test fails because the cache is never cleared. I'll fix it."),
        *call("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, call_id="e"),
        *run(TEST, PASSED, 2),
    )
    assert "; cause: The test fails because the cache is never cleared; passed in #6" in error.text


def test_what_might_be_is_no_cause() -> None:
    (error,) = errors(
        *run(TEST, FAILED, 1),
        agent("If the cache is not cleared, then the test is wrong. But the lock is not released."),
    )
    assert error.text.endswith("; cause: The lock is not released")


def test_a_command_that_the_user_refused_has_not_failed() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    assert errors(*bash("make deploy", refused, is_error=True)) == []


@pytest.mark.parametrize(
    "said",
    [
        "Each checkpoint on the branch contains:",
        "Now let me check the benchmark file of the project.",
        "But more importantly, let me check if the root of `spool` is another one.",
        "All 15 tests pass.",
        "The tests are passing now.",
        "Sets `EndedAt` timestamp",
        "Should we keep the old format of the file?",
        "I'll update the parser for the new format.",
        "Add tests for the `close_review` event",
        "Perfect! The build works.",
        "We will first try to examine the files of the project.",
        "We can now open the log of the spool.",
        "The alias is used, but I need to update the event of the spool first.",
        "`spool_of` is passed in somewhere (need to find where).",
        "Line 3273 is inside the class `Spool` (I assume, by its indentation).",
        "There is a `spool_test.py` and a `state_test.py` probably.",
        "Expected — I'll use that alias of the module in the next edits.",
        "It checks the shell's type and returns another one.",
        "But this mismatch means that the sandbox hides the shell.",
        "So they must be read before the cache is made.",
        "Or the parser should read the file twice instead.",
        "from spool.reader import read_all, read_none",
        "return (2, num_blocks, block_size, head_size) and more of it",
        "exhaust { enable_start, speed_percent, off_at_end, pin }",
        "raise ValueError('The spool must not be empty.')",
        '"The key of the spool is not supported in this mode.")',
        "561 m = self.match_names(col, names or others)",
        "`(text, padding, theme, style, color)`.",
        "If the package has a reader and a writer.",
        "If so, please confirm which class of the reader you mean.",
        "Please confirm that the reader and the writer may change.",
        "If you want, I can also add a reader for the old format.",
        "Given that the reader is right, let me close the task and go on.",
        "All tests pass, including those of the reader.",
        "Need to update the names of the reader in the tests.",
    ],
)
def test_what_decides_nothing_is_no_finding(said: str) -> None:
    assert list(findings_of(digest(agent(said)))) == []


@pytest.mark.parametrize(
    "said",
    [
        "We use SQLite instead of a file because two processes write.",
        "We will keep SQLite, since two processes write.",
        "The parser takes 40 ms instead of 900 ms for 10,000 lines.",
        "`load_config` must never read the file twice.",
        "For `spool_of` I need to keep SQLite, because two processes write.",
        "Callers of `load_config` need to pass a folder of the project.",
    ],
)
def test_what_decides_or_measures_is_a_finding(said: str) -> None:
    assert [item.text for item in findings_of(digest(agent(f"Let me see. {said} Here is how:")))] == [said]


def test_what_the_agent_does_next_is_cut_off_unless_it_decides() -> None:
    said = "The epic must be closed later than its tasks - let me check."
    assert [item.text for item in findings_of(digest(agent(said)))] == ["The epic must be closed later than its tasks."]
    decided = "The lock is never released, so let's use a timeout instead."
    assert [item.text for item in findings_of(digest(agent(decided)))] == [decided]


def test_emphasis_is_left_out_and_patterns_of_paths_are_not() -> None:
    said = "The glob `**/*.py` **must** not match **src/a.py** or src/**/*.ts here."
    assert [item.text for item in findings_of(digest(agent(said)))] == [
        "The glob `**/*.py` must not match src/a.py or src/**/*.ts here."
    ]


def test_of_sentences_without_names_that_say_the_same_only_the_newest_stays() -> None:
    said = [
        "I completed the change and made the patch, but the harness still reports it as empty.",
        "I completed the change and made the new patch, but the harness still reports it as empty.",
    ]
    assert [item.text for item in findings_of(digest(*map(agent, said)))] == said[1:]


def test_what_is_found_in_a_language_without_spaces_is_a_finding() -> None:
    said = "缓存从不清空，因此 `load_config` 会返回旧值。接下来我再看看。"
    (item,) = findings_of(digest(agent(said)))
    assert item.text.startswith("缓存从不清空，因此 `load_config` 会返回旧值。")


def test_a_sentence_does_not_begin_inside_code() -> None:
    said = "The reader failed because `read: (path: string) => string` takes no object any more."
    assert [item.text for item in findings_of(digest(agent(said)))] == [said]
    unpaired = "A mark ` is left. The parser must never read the file twice."
    assert [item.text for item in findings_of(digest(agent(unpaired)))] == [unpaired.partition(". ")[2]]


def test_a_sentence_that_leans_on_the_one_before_it_comes_with_it() -> None:
    said = "The test fails because `zsh` is not found. It needs the user's own shell."
    assert [item.text for item in findings_of(digest(agent(said)))] == [said]
    alone = "Let me look at the log. It needs the user's own shell."
    assert list(findings_of(digest(agent(alone)))) == []


def test_a_finding_begins_without_the_word_that_joined_it_to_what_is_left_out() -> None:
    (item,) = findings_of(digest(agent("Let me look. But the hook gets `session_id` in its input, not as a variable.")))
    assert item.text == "The hook gets `session_id` in its input, not as a variable."


def test_of_findings_that_say_the_same_only_the_newest_stays() -> None:
    said = [
        "The patch caches `alibi_slopes` once on the correct device.",
        "The patch caches `alibi_slopes` on the correct device once.",
    ]
    found = digest(
        agent(said[0]), agent("The other patch caches nothing because every device differs."), agent(said[1])
    )
    assert [item.text for item in findings_of(found) if "alibi" in item.text] == said[1:]


def test_a_finding_with_the_names_and_most_of_the_words_of_a_newer_one_is_left_out() -> None:
    older = "The issue is that `get_trace_id` always returns an error according to dialyzer."
    newer = (
        "The dialyzer issue is that `get_trace_id` always returns an error because of the rescue clause in `otel.ex`."
    )
    other = "The issue is that `get_span_id` always returns an error according to dialyzer."
    found = digest(agent(older), agent(other), agent(newer))
    assert [item.text for item in findings_of(found)] == [newer, other]
