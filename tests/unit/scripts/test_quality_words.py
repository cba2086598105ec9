"""Which of the user's messages the quality bench counts as kept word for word."""

import pytest

from benches.quality_words import measure_words, typed_texts
from support.conversations import agent, bash, user
from ullage.tokens.counter_choice import get_counter

COUNTER = get_counter("gpt-4o")
REQUEST = user("Make the importer fast.\n\nDon't touch the writer.")
SHORT = user("yes")
MESSAGES = (REQUEST, agent("Shall I?"), SHORT, *bash("ls", "Make the importer fast."))


def kept(context: str) -> int:
    return measure_words(MESSAGES, context, 1000, COUNTER).kept


def test_a_result_and_what_an_agent_inserted_are_not_the_users_words() -> None:
    inserted = (user("<command-name>/clear</command-name>"), user("<system-reminder>Be brief.</system-reminder>"))
    assert list(typed_texts((*MESSAGES, *inserted))) == [REQUEST.text, "yes"]


def test_the_output_of_a_command_in_the_agents_text_is_not_the_users() -> None:
    shown = user("<returncode>0</returncode>\n<output>\na.py\n</output>")
    assert list(typed_texts((REQUEST, agent("Look:\n\n```bash\nls\n```"), shown))) == [REQUEST.text]
    assert list(typed_texts((REQUEST, agent("Done."), shown))) == [REQUEST.text, shown.text]


def test_what_the_user_said_in_refusing_a_call_is_counted() -> None:
    refusal = "The user doesn't want to proceed. To tell you how to proceed, the user said:\nno commits yet"
    assert list(typed_texts(bash("git commit", refusal, is_error=True))) == ["no commits yet"]
    assert list(typed_texts(bash("git commit", "the user said: hello"))) == []


def test_the_whole_text_on_other_lines_is_kept() -> None:
    assert kept("- #1 Make the importer fast.\n  Don't touch the writer.") == 1


def test_what_an_agent_put_around_words_that_stay_does_not_hide_them() -> None:
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    assert measure_words((user(command),), f"[user] {command}", 1000, COUNTER).kept == 1


@pytest.mark.parametrize(
    "context",
    ["", "Make the importer fast.", "Make the importer faster. Don't touch the writer", "Don't touch the writer."],
)
def test_a_part_of_the_text_is_not_kept(context: str) -> None:
    assert kept(context) == 0


@pytest.mark.parametrize(
    ("context", "count"), [("- #3 yes", 1), ('  - "yes"', 1), ("oh yes indeed", 0), ("- yes it is", 0)]
)
def test_a_short_answer_must_be_all_of_a_line(context: str, count: int) -> None:
    assert kept(context) == count


def test_the_newest_message_and_the_room_are_looked_at() -> None:
    words = measure_words(MESSAGES, "- #3 yes", 1000, COUNTER)
    assert (words.messages, words.last, words.fits) == (2, True, True)
    tight = measure_words(MESSAGES, REQUEST.text, 12, COUNTER)
    assert (tight.last, tight.fits) == (False, False)
